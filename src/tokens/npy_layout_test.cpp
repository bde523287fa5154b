// SPDX-License-Identifier: Apache-2.0
#include "tokens/npy_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tokens/testing/token_bytes.h"

namespace headroom::tokens {
namespace {

using ::testing::HasSubstr;
using testing::npy_bytes;
using testing::token_bytes;

Result<TokenLayout> read(const std::string& bytes) {
  return read_npy_layout(MemoryBytes(bytes));
}

std::string refusal(const std::string& bytes) {
  const auto layout = read(bytes);
  if (layout) return "";
  EXPECT_FALSE(layout.error().next.empty()) << layout.error().message;
  return layout.error().message;
}

// As numpy.save() writes numpy.array([5, 6, 7], dtype="uint16").
std::string three() {
  return npy_bytes("'<u2'", "(3,)", token_bytes({5, 6, 7}, 2));
}

// A file whose header is `dictionary` alone.
std::string with_header(const std::string& dictionary) {
  return std::string("\x93NUMPY\x01\x00", 8) +
         token_bytes({static_cast<std::int64_t>(dictionary.size())}, 2) + dictionary;
}

TEST(NpyLayout, a_stream_of_every_type_and_version_is_read) {
  for (const int version : {1, 2, 3}) {
    for (const auto& [name, type, size] : {std::tuple{"'<u2'", TokenType::uint16, 2},
                                           {"'<u4'", TokenType::uint32, 4},
                                           {"'<i4'", TokenType::int32, 4},
                                           {"'<i8'", TokenType::int64, 8}}) {
      const std::string bytes = npy_bytes(name, "(3,)", token_bytes({5, 6, 7}, size), version);
      const auto layout = read(bytes);
      ASSERT_TRUE(layout) << layout.error().message;
      EXPECT_EQ(layout->type, type);
      EXPECT_EQ(layout->count, 3U);
      EXPECT_EQ(layout->columns, 0U);
      EXPECT_EQ(layout->offset, bytes.size() - 3 * static_cast<std::size_t>(size));
      EXPECT_EQ(layout->offset % 64, 0U);
      EXPECT_EQ(layout->source, TokenLayout::Source::file);
    }
  }
}

TEST(NpyLayout, rows_and_other_ways_to_write_the_dictionary_are_read) {
  const auto rows = read(npy_bytes("'<u2'", "(3, 2)", token_bytes({1, 2, 3, 4, 5, 6}, 2)));
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->count, 6U);
  EXPECT_EQ(rows->columns, 2U);
  for (const char* dictionary :
       {R"({"shape":(2L,1L),"fortran_order":False,"descr":"<u2"})",
        "{ 'shape' : ( 2 , 1 ) ,\n'descr':'<u2', 'fortran_order':False,}  \n"}) {
    const auto layout = read(with_header(dictionary) + token_bytes({1, 2}, 2));
    ASSERT_TRUE(layout) << layout.error().message;
    EXPECT_EQ(layout->columns, 1U);
  }
  EXPECT_EQ(read(npy_bytes("'<u2'", "(0, 5)", ""))->count, 0U);
}

TEST(NpyLayout, what_is_no_array_of_whole_numbers_says_what_it_is) {
  const auto of_type = [](const std::string& type) {
    return refusal(npy_bytes(type, "(3,)", token_bytes({5, 6, 7}, 2)));
  };
  EXPECT_THAT(of_type("'>u2'"), HasSubstr("found the type '>u2', which is big-endian"));
  EXPECT_THAT(of_type("'|O'"), HasSubstr("pickled Python objects; they are never loaded"));
  EXPECT_THAT(of_type("'<f4'"), HasSubstr("found the type '<f4'"));
  EXPECT_THAT(of_type("'<u8'"), HasSubstr("found the type '<u8'"));
  EXPECT_THAT(of_type("[('tokens', '<u2'), ('mask', '|b1')]"), HasSubstr("structured dtype"));
  EXPECT_THAT(refusal(npy_bytes("'<u2'", "(3, 1)", token_bytes({5, 6, 7}, 2), 1, "True")),
              HasSubstr("found Fortran's"));
  EXPECT_THAT(refusal(npy_bytes("'<u2'", "()", token_bytes({5}, 2))),
              HasSubstr("found the shape ()"));
  EXPECT_THAT(refusal(npy_bytes("'<u2'", "(1, 1, 3)", token_bytes({5, 6, 7}, 2))),
              HasSubstr("found the shape (1, 1, 3)"));
}

TEST(NpyLayout, a_shape_that_the_file_does_not_have_is_refused) {
  const std::string tokens = token_bytes({5, 6, 7}, 2);
  EXPECT_THAT(refusal(npy_bytes("'<u2'", "(4,)", tokens)),
              HasSubstr("expected 8 bytes behind the header, as its shape (4) says, found 6"));
  EXPECT_THAT(refusal(npy_bytes("'<u2'", "(2,)", tokens)), HasSubstr("found 6"));
  EXPECT_THAT(refusal(npy_bytes("'<u2'", "(9223372036854775811,)", tokens)),
              HasSubstr("2^64 or more"));
  EXPECT_THAT(refusal(npy_bytes("'<i8'", "(4294967296, 4294967296)", tokens)),
              HasSubstr("2^64 or more"));
  EXPECT_THAT(refusal(npy_bytes("'<u2'", "(99999999999999999999999,)", tokens)),
              HasSubstr("a size below 2^64"));
  EXPECT_THAT(refusal(npy_bytes("'<u2'", "(-3,)", tokens)), HasSubstr("expected a size at byte"));
}

TEST(NpyLayout, a_file_cut_short_anywhere_is_refused) {
  const std::string bytes = three();
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(refusal(bytes.substr(0, length)), "") << length;
  EXPECT_THAT(refusal(bytes.substr(0, 60)), HasSubstr("found the file's end after 50"));
  EXPECT_THAT(refusal("PK\x03\x04 as numpy.savez() writes it"), HasSubstr("\\x93NUMPY"));
}

TEST(NpyLayout, headers_that_numpy_does_not_write_are_refused_with_the_place) {
  std::string version = three();
  version[6] = 4;
  EXPECT_THAT(refusal(version), HasSubstr("found 4.0"));
  std::string huge = npy_bytes("'<u2'", "(3,)", token_bytes({5, 6, 7}, 2), 2);
  huge.replace(8, 4, "\xff\xff\xff\xff");
  EXPECT_THAT(refusal(huge), HasSubstr("at most 65536 bytes, found 4294967295"));
  EXPECT_THAT(refusal(with_header("")), HasSubstr("a dictionary at byte 0"));
  EXPECT_THAT(refusal(with_header("{'descr': '<u2'}")), HasSubstr("'fortran_order'"));
  EXPECT_THAT(refusal(with_header("{'descr': __import__('os')}")), HasSubstr("a text in quotes"));
  EXPECT_THAT(refusal(with_header("{'descr': '<u2', 'x': 1}")), HasSubstr("not 'x'"));
  EXPECT_THAT(refusal(with_header("{'descr': '<u2")), HasSubstr("a text in quotes"));
  EXPECT_THAT(refusal(with_header("{'fortran_order': 1}")), HasSubstr("True or False"));
  EXPECT_THAT(refusal(with_header("{'shape': [3]}")), HasSubstr("in parentheses"));
  EXPECT_THAT(refusal(with_header("{} {}")), HasSubstr("nothing behind the dictionary"));
  EXPECT_THAT(refusal(with_header(std::string("{\0\x01\x7f", 4))), HasSubstr("found \"???\""));
}

RC_GTEST_PROP(NpyLayoutProperty, any_shape_that_fits_is_read, ()) {
  const auto rows = *rc::gen::inRange<std::uint64_t>(1, 9);
  const auto columns = *rc::gen::inRange<std::uint64_t>(1, 9);
  const int version = *rc::gen::inRange(1, 4);
  const std::string bytes =
      npy_bytes("'<i4'", "(" + std::to_string(rows) + ", " + std::to_string(columns) + ")",
                std::string(rows * columns * 4, 'x'), version);
  const auto layout = read(bytes);
  RC_ASSERT(layout.has_value());
  RC_ASSERT(layout->count == rows * columns && layout->columns == columns);
  RC_ASSERT(layout->offset + layout->count * 4 == bytes.size());
}

RC_GTEST_PROP(NpyLayoutProperty, a_damaged_header_is_refused_or_fits_the_file, ()) {
  std::string bytes = three();
  const std::size_t header = bytes.size() - 6;
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i)
    bytes[*rc::gen::inRange<std::size_t>(0, header)] = *rc::gen::arbitrary<char>();
  const auto layout = read(bytes);
  if (!layout) {
    RC_ASSERT(!layout.error().message.empty() && !layout.error().next.empty());
    return;
  }
  RC_ASSERT(layout->offset <= bytes.size());
  RC_ASSERT(layout->count == (bytes.size() - layout->offset) / size_of(layout->type));
}

}  // namespace
}  // namespace headroom::tokens
