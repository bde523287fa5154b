// SPDX-License-Identifier: Apache-2.0
#include "tokens/sentencepiece/piece_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tokens/sentencepiece/testing/piece_bytes.h"

namespace headroom::tokens {
namespace {

using testing::bytes_field;
using testing::few_pieces;
using ::testing::HasSubstr;
using testing::model_bytes;
using testing::number_field;

std::string error_of(const std::string& bytes) {
  const auto model = parse_piece_model(bytes, "m/tokenizer.model");
  if (model) return "none";
  EXPECT_FALSE(model.error().next.empty()) << model.error().message;
  return model.error().message;
}

std::string error_with(const Piece& piece, const std::string& trainer = testing::bpe()) {
  auto pieces = few_pieces();
  pieces.push_back(piece);
  return error_of(model_bytes(pieces, trainer, ""));
}

TEST(PieceModel, is_what_its_file_says) {
  const std::string trainer = testing::bpe() + number_field(41, 1) +
                              number_field(42, static_cast<std::uint64_t>(-1)) +
                              bytes_field(30, "x");
  const auto model = parse_piece_model(
      model_bytes(few_pieces(), trainer, bytes_field(2, "map") + number_field(3, 0)), "m");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->pieces.size(), 9U);
  EXPECT_EQ(model->pieces[4].text, "abc");
  EXPECT_EQ(model->pieces[4].score, -2);
  EXPECT_EQ(model->kind, PieceModel::Kind::bpe);
  EXPECT_EQ(model->unknown, 0);
  EXPECT_EQ(model->begin_id, 1);
  EXPECT_EQ(model->end_id, std::nullopt);
  EXPECT_EQ(model->pad_id, std::nullopt);
  EXPECT_EQ(model->character_map, "map");
  EXPECT_FALSE(model->adds_prefix);
  EXPECT_TRUE(model->removes_extra_blanks);
}

TEST(PieceModel, defaults_are_those_of_the_format) {
  const auto model = parse_piece_model(model_bytes(few_pieces(), "", ""), "m");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->kind, PieceModel::Kind::unigram);
  EXPECT_EQ(model->end_id, 2);
  EXPECT_TRUE(model->adds_prefix && model->removes_extra_blanks && model->escapes_blanks);
  EXPECT_FALSE(model->byte_fallback);
}

TEST(PieceModel, files_of_other_formats_are_named) {
  EXPECT_THAT(error_of(""),
              HasSubstr("m/tokenizer.model: expected a SentencePiece model, found an empty file"));
  EXPECT_THAT(error_of("{\"version\": \"1.0\"}"), HasSubstr("found JSON"));
  EXPECT_THAT(error_of("version https://git-lfs.github.com/spec/v1\noid"),
              HasSubstr("git lfs pull"));
  EXPECT_THAT(error_of("IQ== 0\nIg== 1\n"), HasSubstr("tiktoken"));
  EXPECT_THAT(error_of("<!DOCTYPE html>"), HasSubstr("a web page"));
  EXPECT_THAT(error_of(std::string("GGUF\x03\x00\x00\x00", 8)), HasSubstr("expected"));
  EXPECT_THAT(error_of(std::string(4096, '\0')), HasSubstr("expected a field"));
  EXPECT_THAT(error_of(bytes_field(2, testing::bpe())), HasSubstr("found no pieces"));
}

TEST(PieceModel, a_cut_file_is_told_wherever_it_is_cut) {
  const std::string bytes = model_bytes(few_pieces(), testing::bpe(), testing::plain());
  ASSERT_EQ(error_of(bytes), "none");
  std::size_t loaded = 0;  // Where the cut is between two messages.
  for (std::size_t size = 0; size < bytes.size(); ++size)
    loaded += error_of(bytes.substr(0, size)) == "none" ? 1U : 0U;
  EXPECT_LE(loaded, 10U);
  EXPECT_THAT(error_of(bytes.substr(0, bytes.size() - 1)),
              HasSubstr("as the length before them says"));
  EXPECT_THAT(error_of("\x0a" + testing::varint(2U << 30U) + bytes), HasSubstr("2147483648 bytes"));
}

TEST(PieceModel, pieces_that_the_library_would_not_load_are_refused) {
  EXPECT_THAT(error_with({"", -9}), HasSubstr("expected a text for piece 9"));
  EXPECT_THAT(error_with({"ab", -9}), HasSubstr("found \"ab\" twice"));
  EXPECT_THAT(error_with({"d", std::numeric_limits<float>::quiet_NaN()}),
              HasSubstr("finite score"));
  EXPECT_THAT(error_with({"<u>", 0, Piece::Kind::unknown}), HasSubstr("found 0 and 9"));
  EXPECT_THAT(error_with({"<0x0A>", 0, Piece::Kind::byte}), HasSubstr("without byte_fallback"));
  EXPECT_THAT(error_with({"<0x0g>", 0, Piece::Kind::byte}, testing::bpe() + number_field(35, 1)),
              HasSubstr("byte pieces from <0x00>"));
  EXPECT_THAT(error_with({"<0x00>", 0, Piece::Kind::byte}, testing::bpe() + number_field(35, 1)),
              HasSubstr("found none for <0x01>"));
  EXPECT_THAT(error_with({std::string(513, 'x'), -9}), HasSubstr("at most 512 bytes"));
  EXPECT_THAT(error_of(model_bytes({{"a", -1}}, "", "")), HasSubstr("expected an unknown piece"));
}

TEST(PieceModel, what_is_not_known_is_refused_by_name) {
  EXPECT_THAT(error_of(model_bytes(few_pieces(), number_field(3, 3), "")), HasSubstr("found word"));
  EXPECT_THAT(error_of(model_bytes(few_pieces(), number_field(3, 4), "")), HasSubstr("found char"));
  EXPECT_THAT(error_of(model_bytes(few_pieces(), number_field(3, 0), "")),
              HasSubstr("found type 0"));
  EXPECT_THAT(error_of(model_bytes(few_pieces(), number_field(24, 1), "")),
              HasSubstr("treat_whitespace_as_suffix"));
}

}  // namespace
}  // namespace headroom::tokens
