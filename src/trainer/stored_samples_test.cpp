// SPDX-License-Identifier: Apache-2.0
// Samples in files that another program tokenised.
#include "trainer/data/stored_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tokens/testing/token_bytes.h"
#include "trainer/data/sample_set.h"
#include "trainer/data/split.h"
#include "trainer/testing/scratch_folder.h"

namespace headroom::trainer::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ScratchFolder;
using tokens::testing::counted_tokens;
using tokens::testing::llm_c_bytes;
using tokens::testing::npy_bytes;
using tokens::testing::token_bytes;

struct Files {
  ScratchFolder folder;
  Source source = {.paths = {}, .kind = "bin", .longest = 4, .vocabulary = 257};
  std::vector<std::string> notes;

  void add(const std::string& name, const std::string& bytes) {
    source.paths.push_back(folder.write(name, bytes));
    source.kind = name.substr(name.rfind('.') + 1);
  }
  SampleSet open() {
    auto samples = open_samples(source, notes);
    EXPECT_TRUE(samples) << samples.error().message;
    return samples ? *std::move(samples) : SampleSet();
  }
  std::string refusal() {
    const auto samples = open_samples(source, notes);
    if (samples) return "";
    EXPECT_FALSE(samples.error().next.empty()) << samples.error().message;
    return samples.error().message;
  }
};

Samples read_all(const SampleSet& set) {
  Samples all;
  Sample space;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const auto sample = set.read(i, space);
    all.emplace_back(sample->begin(), sample->end());
    EXPECT_EQ(all.back().size(), set.tokens_of(i));
  }
  return all;
}

TEST(StoredSamples, a_stream_is_cut_so_that_every_token_but_the_first_is_a_target_once) {
  Files files;
  files.add("a.bin", token_bytes({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 2));
  const SampleSet set = files.open();
  EXPECT_THAT(read_all(set), ElementsAre(ElementsAre(1, 2, 3, 4), ElementsAre(4, 5, 6, 7),
                                         ElementsAre(7, 8, 9, 10)));
  EXPECT_EQ(set.targets_of(0), 3U);
  EXPECT_EQ(set.count_tokens(), 12U);
  EXPECT_THAT(
      files.notes,
      ElementsAre("data.path: 12 token ids (uint16, by the size of the vocabulary, as "
                  "neither a header nor data.dtype says), 3 samples; tokens at the end that "
                  "fill no sample and are left out: 2"));
}

TEST(StoredSamples, every_format_gives_the_same_samples) {
  const std::vector<std::int64_t> ids = {1, 2, 3, 4, 5, 6, 7};
  const auto samples = [](const std::string& name, const std::string& bytes) {
    Files files;
    files.add(name, bytes);
    return read_all(files.open());
  };
  const auto expected = ElementsAre(ElementsAre(1, 2, 3, 4), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(samples("a.bin", token_bytes(ids, 2)), expected);
  EXPECT_THAT(samples("a.bin", llm_c_bytes(20240520, 1, 7, token_bytes(ids, 2))), expected);
  EXPECT_THAT(samples("a.bin", llm_c_bytes(20240801, 7, 7, token_bytes(ids, 4))), expected);
  EXPECT_THAT(samples("a.npy", npy_bytes("'<u2'", "(7,)", token_bytes(ids, 2))), expected);
  EXPECT_THAT(samples("a.npy", npy_bytes("'<u4'", "(7,)", token_bytes(ids, 4), 2)), expected);
  EXPECT_THAT(samples("a.npy", npy_bytes("'<i4'", "(7,)", token_bytes(ids, 4), 3)), expected);
  EXPECT_THAT(samples("a.npy", npy_bytes("'<i8'", "(7,)", token_bytes(ids, 8))), expected);
}

TEST(StoredSamples, rows_are_samples_and_lose_what_is_too_long) {
  Files files;
  files.add("a.npy", npy_bytes("'<u2'", "(2, 3)", token_bytes({1, 2, 3, 4, 5, 6}, 2)));
  EXPECT_THAT(read_all(files.open()), ElementsAre(ElementsAre(1, 2, 3), ElementsAre(4, 5, 6)));
  files.source.longest = 2;
  EXPECT_THAT(read_all(files.open()), ElementsAre(ElementsAre(1, 2), ElementsAre(4, 5)));
  EXPECT_THAT(files.notes.back(),
              HasSubstr("rows of up to 3 tokens, which lost what is beyond batch.sequence = 2: 2"));
}

TEST(StoredSamples, files_are_not_crossed_and_those_of_a_folder_are_sorted) {
  Files files;
  files.folder.write("data/b.bin", token_bytes({11, 12, 13, 14}, 2));
  files.folder.write("data/a.bin", token_bytes({1, 2, 3, 4, 5}, 2));
  files.folder.write("data/c.bin", token_bytes({21, 22}, 2));
  files.folder.write("data/d.txt", "not read");
  files.source.paths = {files.folder.file("data")};
  EXPECT_THAT(read_all(files.open()),
              ElementsAre(ElementsAre(1, 2, 3, 4), ElementsAre(11, 12, 13, 14)));
  EXPECT_THAT(files.notes.back(), HasSubstr("left out: 3"));
}

TEST(StoredSamples, pieces_that_are_checked_side_by_side_are_one_file) {
  // Beyond the pieces that are read at once would be 64 times as much.
  Files files;
  constexpr std::size_t count = (std::size_t{1} << 21U) + 5;
  auto ids = counted_tokens(count, 257);
  files.add("a.bin", token_bytes(ids, 2));
  const SampleSet whole = files.open();
  EXPECT_EQ(whole.size(), (count - 1) / 3);
  const std::string sum = whole.checksum();
  ids[count - 1] = 0;
  files.folder.write("a.bin", token_bytes(ids, 2));
  EXPECT_NE(files.open().checksum(), sum);
  ids[(std::size_t{1} << 20U) + 7] = 257;
  files.folder.write("a.bin", token_bytes(ids, 2));
  EXPECT_THAT(files.refusal(),
              HasSubstr("token 1048583 (from 0): expected uint16 ids from 0 to 256, found 257"));
}

TEST(StoredSamples, a_token_out_of_the_vocabulary_is_told_with_its_place) {
  Files files;
  files.add("a.npy", npy_bytes("'<i8'", "(2, 3)", token_bytes({1, 2, 3, 4, -100, 6}, 8)));
  EXPECT_THAT(files.refusal(),
              HasSubstr("row 1, column 1 (from 0): expected int64 ids from 0 to 256, found -100"));
}

TEST(StoredSamples, uint32_tokens_that_nobody_announced_are_not_read_as_uint16) {
  Files files;
  files.add("a.bin", token_bytes(counted_tokens(40, 200), 4));
  EXPECT_THAT(files.refusal(), HasSubstr("found 0 in every second place, as in a file of uint32"));
  files.source.token_type = tokens::TokenType::uint32;
  EXPECT_EQ(files.open().size(), 13U);
  files.source.token_type = tokens::TokenType::uint16;  // Whoever says so is believed.
  EXPECT_EQ(files.open().size(), 26U);
}

TEST(StoredSamples, what_cannot_be_read_says_why) {
  const auto refusal = [](const std::string& name, const std::string& bytes) {
    Files files;
    files.add(name, bytes);
    return files.refusal();
  };
  EXPECT_THAT(refusal("a.bin", ""), HasSubstr("a.bin: expected token ids, found none"));
  EXPECT_THAT(refusal("a.npy", ""), HasSubstr("a.npy: expected a .npy file"));
  EXPECT_THAT(refusal("a.npy", npy_bytes("'<u2'", "(0,)", "")), HasSubstr("found none"));
  EXPECT_THAT(refusal("a.bin", "odd"), HasSubstr("found 3 bytes, 1 too many"));
  EXPECT_THAT(refusal("a.bin", token_bytes({1, 2, 3}, 2)),
              HasSubstr("batch.sequence = 4 tokens or more"));
  EXPECT_THAT(refusal("a.npy", npy_bytes("'<u2'", "(3, 1)", token_bytes({1, 2, 3}, 2))),
              HasSubstr("found 3 tokens that fill no sample"));
  Files files;
  files.source.paths = {files.folder.file("none.bin")};
  EXPECT_THAT(files.refusal(), HasSubstr("none.bin"));
  files.folder.write("empty/a.txt", "x");
  files.source.paths = {files.folder.file("empty")};
  EXPECT_THAT(files.refusal(), HasSubstr("expected files that end in .bin in"));
  ASSERT_EQ(::mkfifo(files.folder.file("pipe").c_str(), 0600), 0);
  files.source.paths = {files.folder.file("pipe")};
  EXPECT_THAT(files.refusal(), HasSubstr("not a regular file"));
  files.source.paths = {files.folder.write("one.bin", token_bytes({1, 2, 3, 4}, 2))};
  files.source.longest = 1;
  EXPECT_THAT(files.refusal(), HasSubstr("expected at least 2 tokens"));
}

TEST(StoredSamples, a_file_without_permission_is_named) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  Files files;
  files.add("a.bin", token_bytes({1, 2, 3, 4}, 2));
  ASSERT_EQ(::chmod(files.source.paths[0].c_str(), 0), 0);
  EXPECT_THAT(files.refusal(), HasSubstr("a.bin"));
}

TEST(StoredSamples, a_file_cut_short_while_it_is_in_use_is_an_error) {
  Files files;
  files.add("a.bin", token_bytes(counted_tokens(31, 200), 2));
  const SampleSet set = files.open();
  std::filesystem::resize_file(files.source.paths[0], 10);
  Sample space;
  ASSERT_TRUE(set.read(0, space));
  const auto cut = set.read(1, space);
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().message,
              HasSubstr("expected 31 tokens, as it had when the run began; found its end after 5"));
  files.folder.write("a.bin", token_bytes({1, 2, 3, 4, 5, 60000, 7, 8}, 2));
  EXPECT_THAT(set.read(1, space).error().message, HasSubstr("token 5 (from 0)"));
}

TEST(StoredSamples, parts_have_their_samples_and_a_checksum_of_their_own) {
  Files files;
  files.add("a.bin", token_bytes(counted_tokens(64, 200), 2));
  const SampleSet whole = files.open();
  const Samples all = read_all(whole);
  ASSERT_EQ(all.size(), 21U);
  const auto parts = split(files.open(), 0.2, 1);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->evaluation.size(), 5U);
  Samples joined = read_all(parts->training);
  for (const Sample& sample : read_all(parts->evaluation)) {
    EXPECT_THAT(joined, ::testing::Not(::testing::Contains(sample)));
    joined.push_back(sample);
  }
  EXPECT_THAT(joined, ::testing::UnorderedElementsAreArray(all));
  EXPECT_EQ(split(files.open(), 0.2, 1)->training.checksum(), parts->training.checksum());
  EXPECT_NE(split(files.open(), 0.2, 2)->training.checksum(), parts->training.checksum());
  EXPECT_NE(parts->training.checksum(), parts->evaluation.checksum());
  EXPECT_NE(parts->training.checksum(), whole.checksum());
}

}  // namespace
}  // namespace headroom::trainer::data
