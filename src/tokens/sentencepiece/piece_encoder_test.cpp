// SPDX-License-Identifier: Apache-2.0
// Small models by hand; the ids that the library has for trained ones are in tests/tokens.
#include "tokens/sentencepiece/piece_encoder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokens/sentencepiece/testing/piece_bytes.h"

namespace headroom::tokens {
namespace {

using testing::bytes_field;
using ::testing::ElementsAre;
using testing::few_pieces;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::little_endian;
using testing::model_bytes;
using testing::number_field;

using Files = std::array<std::string, 3>;

Result<PieceEncoder> make(const std::string& bytes, const Files& texts = {},
                          std::optional<Id> end = std::nullopt) {
  return PieceEncoder::make(bytes, "m/tokenizer.model", {.folder = "m/", .texts = texts}, end);
}

std::vector<Id> ids_of(Result<PieceEncoder> encoder, std::string_view text,
                       Around around = Around::nothing) {
  std::vector<Id> ids;
  EXPECT_TRUE(encoder) << encoder.error().message;
  EXPECT_TRUE(encoder && encoder->encode(text, around, ids));
  return ids;
}

std::string error_of(const Result<PieceEncoder>& encoder) {
  return encoder ? "none" : encoder.error().message;
}

std::string bpe_model(std::vector<Piece> more = {}, const std::string& normalizer = "") {
  auto pieces = few_pieces();
  pieces.insert(pieces.end(), more.begin(), more.end());
  return model_bytes(pieces, testing::bpe(), normalizer.empty() ? testing::plain() : normalizer);
}

TEST(PieceEncoder, the_pair_of_the_highest_score_is_merged_first) {
  const std::string model = bpe_model();
  EXPECT_THAT(ids_of(make(model), "abc"), ElementsAre(4));
  EXPECT_THAT(ids_of(make(model), "abab ca"), ElementsAre(3, 3, 8, 7, 5));
  // "bc" would come before "ab" with a higher score; then nothing makes "abc".
  EXPECT_THAT(ids_of(make(bpe_model({{"bc", -0.5F}})), "abc"), ElementsAre(4));
  EXPECT_THAT(ids_of(make(bpe_model({{"bc", -0.5F}})), "abcc"), ElementsAre(4, 7));
  EXPECT_THAT(ids_of(make(bpe_model({{"bb", -1}})), "abb"), ElementsAre(3, 6));  // The leftmost.
}

TEST(PieceEncoder, unknown_characters_are_one_piece_in_a_row) {
  EXPECT_THAT(ids_of(make(bpe_model()), "axyzb\xc3\xa9"), ElementsAre(5, 0, 6, 0));
  const std::string unigram = model_bytes(few_pieces(), "", testing::plain());
  EXPECT_THAT(ids_of(make(unigram), "axyzb\xc3\xa9"), ElementsAre(5, 0, 6, 0));
}

TEST(PieceEncoder, a_character_without_a_piece_still_makes_one_with_its_neighbour) {
  const std::string model = bpe_model({{"\t\t", -1}, {"a\t\t", -2}});
  EXPECT_THAT(ids_of(make(model), "\t\ta\t\t"), ElementsAre(9, 10));
  EXPECT_THAT(ids_of(make(model), "x\tya"), ElementsAre(0, 5));
}

TEST(PieceEncoder, unknown_characters_become_bytes_where_the_model_has_them) {
  for (const std::string& trainer : {testing::bpe(), std::string()}) {
    auto pieces = few_pieces();
    for (int byte = 0; byte < 256; ++byte)
      pieces.push_back({fmt::format("<0x{:02X}>", byte), 0, Piece::Kind::byte});
    pieces.push_back({"\t\t", -1});
    const std::string model = model_bytes(pieces, trainer + number_field(35, 1), testing::plain());
    EXPECT_THAT(ids_of(make(model), "a\xc3\xa9\t"), ElementsAre(5, 9 + 0xc3, 9 + 0xa9, 9 + 9));
    EXPECT_THAT(ids_of(make(model), "<0x41>b"), ::testing::Contains(9 + '<'))
        << "no byte piece is text";
  }
}

TEST(PieceEncoder, user_defined_pieces_are_neither_cut_nor_merged) {
  const std::string model = bpe_model({{"bca", 0, Piece::Kind::user_defined}});
  EXPECT_THAT(ids_of(make(model), "abcab"), ElementsAre(5, 9, 6));
  EXPECT_TRUE(make(model)->has_added("bca"));
  EXPECT_FALSE(make(model)->has_added("ab"));
}

TEST(PieceEncoder, unused_pieces_are_taken_apart_again) {
  EXPECT_THAT(ids_of(make(bpe_model({{"abca", -2.5F, Piece::Kind::unused}})), "abca"),
              ElementsAre(4, 5));
  EXPECT_THAT(
      error_of(make(bpe_model({{"ca", -2}, {"bca", -2}, {"abca", -3, Piece::Kind::unused}}))),
      HasSubstr("unused pieces"));
  auto pieces = few_pieces();
  pieces.push_back({"abca", 10, Piece::Kind::unused});
  EXPECT_THAT(ids_of(make(model_bytes(pieces, "", testing::plain())), "abca"), ElementsAre(4, 5));
}

TEST(PieceEncoder, unigram_takes_the_way_with_the_largest_sum) {
  const std::vector<Piece> pieces = {
      testing::unknown, {"a", -1}, {"b", -1}, {"ab", -3}, {"abb", -2.5F}};
  const std::string model = model_bytes(pieces, "", testing::plain());
  EXPECT_THAT(ids_of(make(model), "ab"), ElementsAre(1, 2));
  EXPECT_THAT(ids_of(make(model), "abb"), ElementsAre(4));
  EXPECT_THAT(ids_of(make(model), ""), IsEmpty());
}

// Sums of 1e5 and more begin anew, so that small differences count at the end of a long text too.
TEST(PieceEncoder, a_long_text_is_cut_like_a_short_one) {
  const std::vector<Piece> pieces = {
      testing::unknown, {"a", -1000}, {"b", -1}, {"c", -1}, {"bc", -1.9990F}};
  const std::string model = model_bytes(pieces, "", testing::plain());
  const auto ids = ids_of(make(model), std::string(50000, 'a') + "bc");
  EXPECT_EQ(ids.size(), 50001U);
  EXPECT_EQ(ids.back(), 4);
}

TEST(PieceEncoder, blanks_are_as_the_model_wants_them) {
  const std::string tidy = bpe_model({}, number_field(3, 1) + number_field(4, 1));
  EXPECT_THAT(ids_of(make(tidy), "  a  b "), ElementsAre(8, 5, 8, 6));
  EXPECT_THAT(ids_of(make(tidy), "   "), IsEmpty());
  EXPECT_THAT(ids_of(make(tidy), " a ", Around::text_before), ElementsAre(8, 5));
  EXPECT_THAT(ids_of(make(tidy, {R"({"add_prefix_space": false})"}), "  a"), ElementsAre(5));
  const std::string prefix = bpe_model({}, number_field(3, 1) + number_field(4, 0));
  EXPECT_THAT(ids_of(make(prefix), " a "), ElementsAre(8, 8, 5, 8));
  EXPECT_THAT(ids_of(make(bpe_model({{" ", -7}}, testing::plain() + number_field(5, 0))), "a b"),
              ElementsAre(5, 9, 6));
}

// A tree by hand: "B" becomes "ab", and "Bb" becomes "c".
TEST(PieceEncoder, characters_become_what_the_map_says) {
  std::vector<std::uint32_t> units(512, 0);
  const auto offset = [](std::uint32_t value) { return value << 10U; };
  constexpr std::uint32_t leaf = 1U << 31U, has_leaf = 1U << 8U;
  units[0] = offset(1);
  const std::uint32_t b = 1U ^ 'B';
  units[b] = 'B' | has_leaf | offset(b ^ 256U);
  units[256] = leaf | 0U;
  const std::uint32_t bb = 256U ^ 'b';
  units[bb] = 'b' | has_leaf | offset(bb ^ 511U);
  units[511] = leaf | 3U;
  std::string map = little_endian(512 * 4);
  for (const std::uint32_t unit : units) map += little_endian(unit);
  const auto with = [](const std::string& bytes) {
    return bpe_model({}, testing::plain() + bytes_field(2, bytes));
  };
  const std::string texts("ab\0c\0", 5);
  EXPECT_THAT(ids_of(make(with(map + texts)), "aBbBc"), ElementsAre(5, 7, 4));
  // Leaves beyond the texts and steps beyond the tree are none.
  EXPECT_THAT(ids_of(make(with(map + "x")), "Bb"), ElementsAre(0, 6));
  std::string wild = little_endian(8) + little_endian(offset(1)) + little_endian(~0U) + texts;
  EXPECT_THAT(ids_of(make(with(wild)), "Bb"), ElementsAre(0, 6));
  EXPECT_THAT(error_of(make(with("x"))), HasSubstr("precompiled_charsmap"));
  EXPECT_THAT(error_of(make(with(little_endian(1U << 30U) + texts))),
              HasSubstr("precompiled_charsmap"));
  std::string no_text = map + std::string("\xff\0c\0", 4);
  std::vector<Id> ids;
  EXPECT_FALSE(make(with(no_text))->encode("B", Around::nothing, ids));
}

TEST(PieceEncoder, tokens_stand_around_a_text_as_the_files_say) {
  const std::string model = bpe_model();
  EXPECT_THAT(ids_of(make(model), "ab", Around::special_tokens), ElementsAre(1, 3));
  EXPECT_THAT(ids_of(make(model), "ab", Around::beginning), ElementsAre(1, 3));
  EXPECT_THAT(ids_of(make(model, {R"({"add_bos_token": false, "add_eos_token": true})"}), "ab",
                     Around::special_tokens),
              ElementsAre(3, 2));
  EXPECT_THAT(ids_of(make(model, {R"({"tokenizer_class": "T5Tokenizer"})"}), "ab</s>",
                     Around::special_tokens),
              ElementsAre(3, 2));
  EXPECT_THAT(
      ids_of(make(model, {R"({"bos_token": {"content": "</s>"}})"}), "", Around::special_tokens),
      ElementsAre(2));
}

TEST(PieceEncoder, added_tokens_are_found_and_end_what_is_before_them) {
  const std::string model = bpe_model({}, number_field(3, 1) + number_field(4, 0));
  EXPECT_THAT(ids_of(make(model), "<s>ab</s> ab"), ElementsAre(1, 3, 2, 8, 3));
  EXPECT_THAT(ids_of(make(model, {R"({"legacy": true})"}), "<s>ab"), ElementsAre(1, 8, 3));
  const Files numbered = {R"({"added_tokens_decoder": {"11": {"content": "<x>", "rstrip": true}}})",
                          R"({"pad_token": "<pad>"})", R"({"<y>": 12})"};
  EXPECT_THAT(ids_of(make(model, numbered), "a<x>  b<pad>"), ::testing::Contains(11));
  EXPECT_FALSE(make(model, numbered)->has_added("<y>"));
  EXPECT_FALSE(make(model, numbered)->has_added("<pad>"));
  const Files named = {"",
                       R"({"pad_token": {"content": "<pad>", "lstrip": true}, "eos_token": "<y>"})",
                       R"({"<y>": 12})"};
  EXPECT_THAT(ids_of(make(model, named), "a <pad><y>", Around::text_before),
              ElementsAre(5, 13, 12));
  EXPECT_EQ(make(model, named)->end_of_text(), 12);
  EXPECT_EQ(make(model, named)->shown(12), "<y>");
}

TEST(PieceEncoder, a_text_ends_as_the_files_say_or_the_config_or_the_model) {
  EXPECT_EQ(make(bpe_model())->end_of_text(), 2);
  EXPECT_EQ(make(bpe_model(), {}, 7)->end_of_text(), 7);
  EXPECT_EQ(make(bpe_model(), {R"({"eos_token": "<s>"})"}, 7)->end_of_text(), 1);
}

TEST(PieceEncoder, other_files_are_refused_with_their_name) {
  const std::string model = bpe_model();
  EXPECT_THAT(error_of(make(model, {"["})), HasSubstr("m/tokenizer_config.json"));
  EXPECT_THAT(error_of(make(model, {"", "3"})),
              HasSubstr("m/special_tokens_map.json: expected an object"));
  EXPECT_THAT(error_of(make(model, {"", "", R"({"x": -1})"})),
              HasSubstr("x: expected an id below"));
  EXPECT_THAT(error_of(make(model, {R"({"added_tokens_decoder": {"1e9": "x"}})"})),
              HasSubstr("expected an id below"));
  EXPECT_THAT(error_of(make(model, {R"({"added_tokens_decoder": {"5": 3}})"})),
              HasSubstr("a text, or an object"));
  EXPECT_THAT(error_of(make(model, {R"({"add_bos_token": 1})"})), HasSubstr("true or false"));
  EXPECT_THAT(error_of(make(model, {R"({"tokenizer_class": "XLMRobertaTokenizer"})"})),
              HasSubstr("found XLMRobertaTokenizer"));
}

TEST(PieceEncoder, bytes_that_are_no_text_are_refused) {
  std::vector<Id> ids;
  const auto status = make(bpe_model())->encode("a\xff", Around::nothing, ids);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("UTF-8"));
}

}  // namespace
}  // namespace headroom::tokens
