// SPDX-License-Identifier: Apache-2.0
#include "base/document_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/byte_json.h"
#include "base/document.h"

namespace headroom {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum class Colour { red, green };
std::string_view to_string(Colour colour) {
  return colour == Colour::red ? "red" : "green";
}

// What `read` makes of a TOML text: its first error, with what to do, or "".
template <class Read>
std::string complaint(const std::string& text, Read read, DocumentWords words = {}) {
  const auto document = parse_toml(text);
  if (!document) return "no document: " + document.error().message;
  DocumentReader reader(*document, std::move(words));
  TableReader root = reader.root();
  read(root);
  const Status status = reader.finish();
  return status ? "" : status.error().message + " | " + status.error().next;
}

TEST(DocumentReader, reads_every_type) {
  const auto document = parse_toml(
      "name = \"n\"\nyes = true\nratio = 0.5\ncount = 7\nauto = \"auto\"\nsize = \"16GiB\"\n"
      "one = \"a\"\nmany = [\"a\", \"b\"]\nnumbers = [1, 2.5]\nnamed = { a = \"A\" }\n"
      "colour = \"green\"\n");
  DocumentReader reader(*document);
  TableReader table = reader.root();
  std::string name;
  bool yes = false;
  double ratio = 0;
  std::optional<std::uint64_t> automatic = 3;
  std::optional<Bytes> size;
  std::vector<std::string> one, many;
  std::vector<double> numbers;
  std::map<std::string, std::string> named;
  table.read("name", name);
  table.read("yes", yes);
  table.read("ratio", ratio, 0, 1);
  table.read_or_auto("auto", automatic, {1, 9});
  table.read("size", size);
  table.read("one", one);
  table.read("many", many);
  table.read("numbers", numbers);
  table.read("named", named);
  EXPECT_EQ(table.number("count", {1, 9}), 7U);
  EXPECT_EQ(table.word<Colour>("colour", {{"red", Colour::red}, {"green", Colour::green}}),
            Colour::green);
  EXPECT_EQ(table.choice("colour", Colour::green), Colour::green);
  table.refuse_unknown();
  ASSERT_TRUE(reader.finish()) << reader.finish().error().message;
  EXPECT_EQ(name, "n");
  EXPECT_TRUE(yes);
  EXPECT_EQ(ratio, 0.5);
  EXPECT_EQ(automatic, std::nullopt);
  EXPECT_EQ(size, 16_GiB);
  EXPECT_THAT(one, ElementsAre("a"));
  EXPECT_THAT(many, ElementsAre("a", "b"));
  EXPECT_THAT(numbers, ElementsAre(1, 2.5));
  EXPECT_EQ(named.at("a"), "A");
}

TEST(DocumentReader, an_absent_key_leaves_its_value_alone_unless_it_must_be_there) {
  EXPECT_EQ(complaint("",
                      [](TableReader& table) {
                        std::string name = "as it was";
                        table.read("name", name);
                        EXPECT_EQ(name, "as it was");
                        EXPECT_FALSE(table.has("name"));
                        TableReader inner = table.optional_table("inner");
                        inner.read("name", name);
                        inner.refuse_unknown();
                        EXPECT_TRUE(inner.rows("row").empty());
                        EXPECT_TRUE(inner.any_table("any").empty());
                        EXPECT_TRUE(inner.any_array("any").empty());
                      }),
            "");
  EXPECT_EQ(complaint("", [](TableReader& table) { table.text("name"); }),
            "name: expected text, found nothing | write for instance name = \"…\"");
}

TEST(DocumentReader, a_wrong_value_says_what_was_expected_and_found) {
  const auto read_number = [](TableReader& table) {
    std::uint64_t number = 4;
    table.optional_table("batch").read("micro", number, {1, 8});
    EXPECT_EQ(number, 4U);
  };
  EXPECT_EQ(complaint("[batch]\nmicro = 9\n", read_number),
            "line 2: batch.micro: expected a whole number from 1 to 8, found 9 | write for "
            "instance micro = 4, or leave micro out");
  EXPECT_THAT(complaint("[batch]\nmicro = -1\n", read_number), HasSubstr("found -1"));
  EXPECT_THAT(complaint("[batch]\nmicro = 1.5\n", read_number), HasSubstr("found 1.5"));
  EXPECT_THAT(complaint("[batch]\nmicro = { a = 1 }\n", read_number), HasSubstr("found a table"));
  EXPECT_EQ(complaint("[batch]\nmicro = 8e0\n",
                      [](TableReader& table) {
                        EXPECT_EQ(table.table("batch").number("micro", {1, 8}), 8U);
                      }),
            "");
  EXPECT_EQ(complaint("batch = 3\n", read_number),
            "line 1: batch: expected a table, found 3 | write it as a [table] followed by lines "
            "such as key = value");
  EXPECT_THAT(complaint("ratio = nan\n",
                        [](TableReader& table) {
                          double ratio = 1;
                          table.read("ratio", ratio, 0, 2);
                        }),
              HasSubstr("expected a number from 0 to 2, found nan"));
  EXPECT_EQ(complaint("colour = \"gren\"\n",
                      [](TableReader& table) { table.choice("colour", Colour::green); }),
            "line 1: colour: expected one of red, green, found \"gren\" | write colour = "
            "\"green\"");
}

TEST(DocumentReader, the_first_error_is_kept) {
  const std::string text = complaint("a = 1\nb = 2\n", [](TableReader& table) {
    EXPECT_EQ(table.text("b"), "");
    table.text("a");
    table.wrong("a", "something else");
    table.refuse_unknown();
  });
  EXPECT_THAT(text, HasSubstr("line 2: b: expected text"));
}

TEST(DocumentReader, a_row_is_named_by_its_place_and_a_missing_key_by_its_rows_line) {
  const auto read_rows = [](TableReader& table) {
    for (TableReader& row : table.rows("card")) {
      row.number("vram_gib", {1, 512});
      row.refuse_unknown();
    }
  };
  const std::string rows = "[[card]]\nvram_gib = 16\n[[card]]\n";
  EXPECT_EQ(complaint(rows, read_rows, {.root = "", .file = "cards.toml"}),
            "cards.toml: line 3: card[1].vram_gib: expected a whole number from 1 to 512, found "
            "nothing | write for instance vram_gib = 1");
  EXPECT_THAT(complaint(rows + "vram_gib = 24\nvram_gb = 24\n", read_rows),
              HasSubstr("line 5: card[1].vram_gb: unknown key; known here: vram_gib | did you "
                        "mean vram_gib?"));
  EXPECT_THAT(complaint("card = [1]\n", read_rows),
              HasSubstr("card[0]: expected a table, found 1"));
  EXPECT_THAT(complaint("card = 1\n", read_rows), HasSubstr("line 1: card: expected a list"));
  EXPECT_EQ(complaint("[card]\nb = { vram_gib = 1 }\na = { vram_gib = 2 }\n",
                      [](TableReader& table) {
                        std::vector<std::string> names;
                        for (TableReader& row : table.rows("card")) {
                          names.push_back(row.name() + std::to_string(row.number("vram_gib")));
                        }
                        EXPECT_THAT(names, ElementsAre("a2", "b1"));
                      }),
            "");
}

TEST(DocumentReader, a_value_that_came_from_elsewhere_has_no_line) {
  auto document = parse_toml("[batch]\nmicro = 1\n");
  document->value["batch"]["micro"] = 0;
  document->lines.erase("/batch/micro");
  DocumentReader reader(*document);
  reader.root().table("batch").number("micro", {1, 8});
  EXPECT_EQ(reader.finish().error().message,
            "batch.micro: expected a whole number from 1 to 8, found 0");
}

TEST(DocumentReader, the_table_itself_can_be_wrong) {
  EXPECT_EQ(complaint("a = 1\n",
                      [](TableReader& table) {
                        table.fail("", Errc::unsupported, "too small", "make it larger");
                      },
                      {.root = "the job"}),
            "line 1: the job: too small | make it larger");
}

TEST(DocumentReader, json_is_spelled_as_json) {
  const Json json = *parse_json(R"({"steps": [{"path": 7, "n": null}], "few": {}})");
  const auto first_error = [&](auto read) {
    DocumentReader reader(json, {.spelling = Spelling::json, .root = "/", .next = "start over"});
    TableReader root = reader.root();
    read(root);
    const Status status = reader.finish();
    return status ? "" : status.error().message + " | " + status.error().next;
  };
  EXPECT_EQ(first_error([](TableReader& root) {
              TableReader step = root.tables("steps").at(0);
              EXPECT_FALSE(step.has("n"));
              EXPECT_EQ(step.nullable_number("n"), std::nullopt);
              EXPECT_EQ(step.nullable_byte_string("n"), std::nullopt);
              step.byte_string("path");
            }),
            "/steps/0/path: expected text, or {\"base64\": …}, found 7 | start over");
  EXPECT_EQ(first_error([](TableReader& root) { root.table("steps"); }),
            "/steps: expected an object, found [{\"n\":null,\"path\":7}] | start over");
  EXPECT_EQ(first_error([](TableReader& root) { root.tables("few"); }),
            "/few: expected a list, each of it an object, found an object | start over");
  EXPECT_EQ(first_error([](TableReader& root) { root.nullable_number("gone"); }),
            "/gone: expected a whole number, found nothing | start over");
  const Json list = Json::array();
  DocumentReader reader(list, {.spelling = Spelling::json, .root = "/"});
  reader.root();
  EXPECT_EQ(reader.finish().error().message, "/: expected an object, found []");
}

TEST(DocumentReader, bytes_come_back_as_they_were) {
  const std::string bytes("\x00\xff caf\xe9\n", 8);
  const Json json = Json::parse(
      nlohmann::ordered_json{{"list", bytes_to_json(std::vector<std::string>{"plain", bytes})},
                             {"one", bytes_to_json(bytes)},
                             {"none", bytes_to_json(std::optional<std::string>())}}
          .dump());
  DocumentReader reader(json);
  TableReader root = reader.root();
  EXPECT_THAT(root.byte_strings("list"), ElementsAre("plain", bytes));
  EXPECT_EQ(root.byte_string("one"), bytes);
  EXPECT_EQ(root.nullable_byte_string("one"), bytes);
  EXPECT_EQ(root.nullable_byte_string("none"), std::nullopt);
  EXPECT_TRUE(reader.finish());
}

TEST(DocumentReader, a_long_wrong_value_is_shown_in_part) {
  std::string euros = "a";
  for (int i = 0; i < 1000; ++i) euros += "€";
  const std::string text =
      complaint("number = \"" + euros + "\"\n", [](TableReader& table) { table.number("number"); });
  EXPECT_LT(text.size(), 200U);
  EXPECT_THAT(text, HasSubstr("€…"));
}

}  // namespace
}  // namespace headroom
