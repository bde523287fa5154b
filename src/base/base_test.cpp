// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/document.h"
#include "base/text.h"

namespace headroom {
namespace {

TEST(Bytes, prints_the_largest_unit_that_leaves_at_least_one) {
  EXPECT_EQ(to_string(0_B), "0 B");
  EXPECT_EQ(to_string(1023_B), "1023 B");
  EXPECT_EQ(to_string(768_MiB), "768.0 MiB");
  EXPECT_EQ(to_string(Bytes{67149512704}), "62.54 GiB");
}

TEST(Bytes, reads_what_people_write) {
  EXPECT_EQ(*parse_bytes("16GiB"), 16_GiB);
  EXPECT_EQ(*parse_bytes(" 512 mib "), 512_MiB);
  EXPECT_EQ(*parse_bytes("2G"), 2_GiB);
  EXPECT_EQ(parse_bytes("2PiB")->value, std::uint64_t{2} << 50U);
  EXPECT_EQ(parse_bytes("12EiB")->value, std::uint64_t{12} << 60U);  // Above 2^63.
  EXPECT_FALSE(parse_bytes("16EiB"));
  EXPECT_EQ(parse_bytes("16 GB")->value, 16'000'000'000U);
  EXPECT_EQ(parse_bytes("3.99 GiB")->value, 4284229878U);
  EXPECT_EQ(parse_bytes("18446744073709551615")->value, UINT64_MAX);
}

TEST(Bytes, refuses_what_is_no_size) {
  for (const char* text :
       {"", "GiB", "-1GiB", "1.2.3G", "12 parsecs", "99999999999TiB", "0x10", "1e3G"}) {
    EXPECT_FALSE(parse_bytes(text).has_value()) << text;
  }
}

TEST(Text, numbers_are_whole_or_nothing) {
  EXPECT_EQ(parse_u64("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_u64("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_u64("12 "), std::nullopt);
  EXPECT_EQ(parse_u64("-1"), std::nullopt);
  EXPECT_EQ(parse_hex("0x744C"), 0x744cU);
  EXPECT_EQ(parse_i64("-1"), -1);
}

TEST(Text, lines_come_without_their_ends) {
  EXPECT_EQ(split_lines("a\r\nb\n\nc"), (std::vector<std::string_view>{"a", "b", "", "c"}));
  EXPECT_TRUE(split_lines("").empty());
}

TEST(Text, nearest_finds_typing_errors_and_nothing_else) {
  EXPECT_EQ(nearest("micor", {"micro", "sequence"}), "micro");
  EXPECT_EQ(nearest("josn", {"job", "json"}), "json");  // Two letters swapped are one mistake.
  EXPECT_EQ(nearest("banana", {"micro", "sequence"}), std::nullopt);
  EXPECT_EQ(nearest("--foo", {"--root", "--log"}), std::nullopt);  // Two of three letters differ.
  EXPECT_EQ(nearest("-x", {"-h", "-v"}), std::nullopt);
}

TEST(Document, toml_keeps_the_line_of_every_key) {
  const auto document = parse_document("[batch]\nmicro = 4\n\n[device]\ncapacity = \"1GiB\"\n");
  ASSERT_TRUE(document.has_value());
  EXPECT_EQ(document->value["batch"]["micro"], 4);
  EXPECT_EQ(document->place("/batch/micro"), "line 2: ");
  EXPECT_EQ(document->place("/device/capacity"), "line 5: ");
}

TEST(Document, mistakes_name_their_line) {
  const auto broken = parse_toml("[batch]\nmicro = \n");
  ASSERT_FALSE(broken.has_value());
  EXPECT_NE(broken.error().message.find("line 2"), std::string::npos) << broken.error().message;
}

TEST(Document, keys_of_too_many_parts_are_refused_and_dots_elsewhere_are_not) {
  std::string key = "a";
  for (int i = 0; i < 100000; ++i) key += ".a";
  EXPECT_FALSE(parse_toml(key + " = 1\n").has_value());
  EXPECT_FALSE(parse_toml("[" + key + "]\n").has_value());
  const std::string dots(500, '.');
  const auto text = parse_toml("# " + dots + "\na = \"" + dots + "\"\nb = '''\n" + dots +
                               "'''\nc = [1.5, 2.5]\nd.e = \"\\\"" + dots + "\"\n");
  ASSERT_TRUE(text.has_value()) << text.error().message;
  EXPECT_EQ(text->value["a"], dots);
}

TEST(Document, a_mistake_is_told_in_a_line_however_long_the_word) {
  const std::string digits(1000000, '7');
  for (const auto& document : {parse_document("{\"a\": " + digits + "x}"),
                               parse_document("{\"a\": -" + digits + "e99999999}"),
                               parse_document("a = " + digits + "\n")}) {
    ASSERT_FALSE(document.has_value());
    EXPECT_LT(document.error().message.size(), 600U);
  }
}

TEST(Document, json_is_recognised_by_its_brace) {
  EXPECT_EQ(parse_document(" {\"a\": [1, 2]}")->value["a"][1], 2);
  EXPECT_FALSE(parse_document("{\"a\": ").has_value());
  EXPECT_FALSE(parse_json(std::string(100000, '[')).has_value());
}

}  // namespace
}  // namespace headroom
