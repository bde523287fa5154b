// SPDX-License-Identifier: Apache-2.0
// Pickles as bytes. What each protocol writes was taken from the format's description
// (pickletools); tests/replay/pickle_python_test.py holds the reader against Python itself.
#include "allocator/snapshot/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headroom::allocator {
namespace {

using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// For looking at a small value: [1, "a", {"k": None}].
std::string show(const Pickle& pickle, PickleValue value) {
  if (const auto number = pickle.to_signed(value)) return std::to_string(*number);
  if (const auto number = pickle.to_unsigned(value)) return std::to_string(*number);
  if (const auto truth = pickle.to_bool(value)) return *truth ? "true" : "false";
  if (const auto real = pickle.to_real(value)) return "real " + std::to_string(*real);
  if (const auto text = pickle.to_text(value)) {
    const char* quote = value.kind() == PickleKind::text ? "\"" : "'";
    return quote + std::string(*text) + quote;
  }
  if (value.kind() == PickleKind::none) return "none";
  if (value.kind() == PickleKind::huge_integer) return "huge";
  if (value.kind() == PickleKind::absent) return "absent";
  std::string shown = value.kind() == PickleKind::list    ? "["
                      : value.kind() == PickleKind::tuple ? "("
                                                          : "{";
  pickle.each(value, [&](PickleValue item) {
    shown += show(pickle, item) + ",";
    return true;
  });
  return shown + (value.kind() == PickleKind::list    ? "]"
                  : value.kind() == PickleKind::tuple ? ")"
                                                      : "}");
}

std::string shown(const std::string& text) {
  const auto pickle = parse_pickle(text);
  return pickle ? show(*pickle, pickle->root()) : pickle.error().message;
}

TEST(Pickle, numbers_of_every_form) {
  EXPECT_EQ(shown("K\x07."), "7");
  EXPECT_EQ(shown("M\x01\x02."), "513");
  EXPECT_EQ(shown("J\xff\xff\xff\xff."), "-1");
  EXPECT_EQ(shown("J\x00\x00\x00\x80."s), "-2147483648");
  EXPECT_EQ(shown("\x8a\x00."s), "0");
  EXPECT_EQ(shown("\x8a\x02\xff\x00."s), "255");
  EXPECT_EQ(shown("\x8a\x01\xff."), "-1");
  EXPECT_EQ(shown("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00."s), "18446744073709551615");
  EXPECT_EQ(shown("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80."s), "-9223372036854775808");
  EXPECT_EQ(shown("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\xff."s), "huge");
  EXPECT_EQ(shown("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01."s), "huge");
  EXPECT_EQ(shown("\x8b\x01\x00\x00\x00\x2a."s), "42");
  EXPECT_EQ(shown("I-12\n."), "-12");
  EXPECT_EQ(shown("L18446744073709551615L\n."), "18446744073709551615");
  EXPECT_EQ(shown("L18446744073709551616L\n."), "huge");
  EXPECT_EQ(shown("I-9223372036854775808\n."), "-9223372036854775808");
  EXPECT_EQ(shown("I01\n."), "true");
  EXPECT_EQ(shown("\x89."), "false");
  EXPECT_EQ(shown("G\x3f\xf8\x00\x00\x00\x00\x00\x00."s), "real 1.500000");
  EXPECT_EQ(shown("F-2.5\n."), "real -2.500000");
}

TEST(Pickle, text_and_bytes_of_every_form) {
  EXPECT_EQ(shown("\x8c\x02hi."), "\"hi\"");
  EXPECT_EQ(shown("X\x02\x00\x00\x00hi."s), "\"hi\"");
  EXPECT_EQ(shown("\x8d\x02\x00\x00\x00\x00\x00\x00\x00hi."s), "\"hi\"");
  EXPECT_EQ(shown("U\x02hi."), "\"hi\"");
  EXPECT_EQ(shown("C\x02hi."), "'hi'");
  EXPECT_EQ(shown("B\x02\x00\x00\x00hi."s), "'hi'");
  EXPECT_EQ(shown("S'a\\'b\\x41\\n'\n."), "\"a'bA\n\"");
  EXPECT_EQ(shown("Vgr\xfc\\u00df \\U0001f600\n."), "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\"");
}

TEST(Pickle, containers_of_every_protocol) {
  EXPECT_EQ(shown("(lp0\nI1\naI2\na."), "[1,2,]");
  EXPECT_EQ(shown("(dp0\nVk\np1\nI1\ns."), "{\"k\",1,}");
  EXPECT_EQ(shown("\x80\x02]q\x00(K\x01K\x02"
                  "e."s),
            "[1,2,]");
  EXPECT_EQ(
      shown(
          "\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01k\x94K\x01\x8c\x01l\x94)u."s),
      "{\"k\",1,\"l\",(),}");
  EXPECT_EQ(shown("K\x01\x85K\x02K\x03\x86K\x04K\x05K\x06\x87\x87."), "((1,),(2,3,),(4,5,6,),)");
  EXPECT_EQ(shown("(K\x01K\x02t."), "(1,2,)");
  EXPECT_EQ(shown("(K\x01K\x02l."), "[1,2,]");
}

TEST(Pickle, a_list_filled_in_several_goes_is_one_list) {
  EXPECT_EQ(shown("](K\x01](K\x02"
                  "eeK\x03"
                  "a(K\x04](e]K\x05"
                  "ae."),
            "[1,[2,],3,4,[],[5,],]");
  const std::string text =
      "](K\x01](K\x02"
      "eeK\x03"
      "a(K\x04K\x05"
      "e.";
  const auto pickle = parse_pickle(text);
  EXPECT_EQ(pickle->size(pickle->root()), 5U);
}

TEST(Pickle, shared_objects_stay_shared) {
  const std::string text = "\x80\x04](]\x94h\x00h\x00]e."s;
  const auto pickle = parse_pickle(text);
  ASSERT_TRUE(pickle.has_value());
  std::vector<std::size_t> identities;
  pickle->each(pickle->root(), [&](PickleValue item) {
    identities.push_back(pickle->identity(item));
    return true;
  });
  EXPECT_THAT(identities, ElementsAre(1, 1, 1, 2));
}

TEST(Pickle, a_list_may_contain_itself) {
  const std::string text =
      "]\x94h\x00"
      "a."s;
  const auto pickle = parse_pickle(text);
  ASSERT_TRUE(pickle.has_value());
  EXPECT_EQ(pickle->size(pickle->root()), 1U);
}

TEST(Pickle, fields_are_found_and_the_last_of_a_name_counts) {
  const std::string text =
      "}(\x8c\x01"
      "aK\x01\x8c\x01"
      "bK\x02\x8c\x01"
      "aK\x03K\x07K\x08u.";
  const auto pickle = parse_pickle(text);
  ASSERT_TRUE(pickle.has_value());
  const auto [a, b, c] =
      pickle->fields(pickle->root(), std::array<std::string_view, 3>{"a", "b", "c"});
  EXPECT_EQ(pickle->to_unsigned(a), 3U);
  EXPECT_EQ(pickle->to_unsigned(b), 2U);
  EXPECT_EQ(c.kind(), PickleKind::absent);
  EXPECT_EQ(pickle->field(a, "a").kind(), PickleKind::absent);
}

TEST(Pickle, whatever_would_run_is_refused_by_name) {
  const std::vector<std::pair<std::string, std::string>> hostile = {
      {"cos\nsystem\n(Vtrue\ntR.", "GLOBAL"},
      {"\x80\x04\x8c\x02os\x8c\x06system\x93.", "STACK_GLOBAL"},
      {"(ios\nsystem\n.", "INST"},
      {"(o.", "OBJ"},
      {"))R.", "REDUCE"},
      {")}b.", "BUILD"},
      {"))\x81.", "NEWOBJ"},
      {")))\x92.", "NEWOBJ_EX"},
      {"\x82\x01.", "EXT1"},
      {"Pid\n.", "PERSID"},
      {"NQ.", "BINPERSID"},
  };
  for (const auto& [text, name] : hostile) {
    const auto pickle = parse_pickle(text);
    ASSERT_FALSE(pickle.has_value()) << name;
    EXPECT_THAT(pickle.error().message, HasSubstr("the instruction " + name + " "));
    EXPECT_THAT(pickle.error().message, HasSubstr("Nothing was executed"));
    EXPECT_FALSE(pickle.error().next.empty());
  }
  EXPECT_THAT(shown("NNcos\nsystem\n."), HasSubstr("byte 2: "));
  EXPECT_THAT(shown("\x8f."), HasSubstr("EMPTY_SET"));
  EXPECT_THAT(shown("\x07."), HasSubstr("0x07"));
}

TEST(Pickle, every_cut_of_a_good_pickle_is_an_error) {
  const std::string good =
      "\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01k\x94\x8a\x02\xff\x00\x8c\x01l\x94"
      "G\x3f\xf8\x00\x00\x00\x00\x00\x00\x8c\x01mh\x01u."s;
  ASSERT_TRUE(parse_pickle(good).has_value());
  for (std::size_t length = 0; length < good.size(); ++length) {
    const auto cut = parse_pickle(std::string_view(good).substr(0, length));
    ASSERT_FALSE(cut.has_value()) << length;
    EXPECT_THAT(cut.error().message, HasSubstr("byte "));
    EXPECT_FALSE(cut.error().next.empty());
  }
}

TEST(Pickle, nonsense_is_an_error_and_not_a_crash) {
  for (const std::string& text : {"."s,
                                  "a."s,
                                  "]a."s,
                                  "s."s,
                                  "]K\x01s."s,
                                  "}K\x01K\x02"
                                  "a."s,
                                  "e."s,
                                  "u."s,
                                  "](e"s,
                                  "}(K\x01u."s,
                                  "(K\x01"
                                  "d."s,
                                  "0."s,
                                  "1."s,
                                  "2."s,
                                  "t."s,
                                  "(."s,
                                  "\x85."s,
                                  "K\x01(\x86."s,
                                  "h\x00."s,
                                  "g1\n."s,
                                  "q\x00."s,
                                  "NrXXXX."s,
                                  "Nr\xff\xff\xff\xff."s,
                                  "S'a\n."s,
                                  "V\\u12\n."s,
                                  "Ix\n."s,
                                  "L\n."s,
                                  "F\n."s,
                                  "Fabc\n."s,
                                  "gx\n."s,
                                  "\x8d\xff\xff\xff\xff\xff\xff\xff\xff."s,
                                  "X\xff\xff\xff\xff."s,
                                  "\x80\x06N."s,
                                  "](N1e."s,
                                  "N(K\x01"
                                  "e."s}) {
    const auto pickle = parse_pickle(text);
    EXPECT_FALSE(pickle.has_value()) << ::testing::PrintToString(text);
  }
}

TEST(Pickle, nesting_without_end_is_refused) {
  EXPECT_THAT(shown(std::string(2000, '(')), HasSubstr("inside each other"));
}

TEST(Pickle, a_pickle_is_known_by_its_first_bytes) {
  EXPECT_TRUE(looks_like_pickle("\x80\x04"));
  EXPECT_TRUE(looks_like_pickle("(dp0\n"));
  EXPECT_FALSE(looks_like_pickle("a 1 512\n"));
  EXPECT_FALSE(looks_like_pickle("# comment\n"));
  EXPECT_FALSE(looks_like_pickle(""));
}

}  // namespace
}  // namespace headroom::allocator
