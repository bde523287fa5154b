// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "trainer/testing/scratch_folder.h"

namespace headroom::trainer::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScratchFolder;

std::string decode(const Sample& sample) {
  std::string text;
  for (const std::int32_t id : sample) {
    if (id == end_of_sample) {
      text += "|";
    } else {
      text += static_cast<char>(id);
    }
  }
  return text;
}

std::vector<std::string> pack(std::string_view text, std::uint64_t longest) {
  Samples samples;
  add_text_samples(text, longest, samples);
  std::vector<std::string> texts;
  for (const Sample& sample : samples) {
    EXPECT_LE(sample.size(), longest);
    texts.push_back(decode(sample));
  }
  return texts;
}

TEST(TextSamples, paragraphs_are_packed_greedily_and_in_order) {
  EXPECT_THAT(pack("one\ntwo\n\n\n \nthree\n\nfour", 14),
              ElementsAre("one\ntwo|", "three\n\nfour|"));
  EXPECT_THAT(pack("one\ntwo\n\nthree\n\nfour", 15), ElementsAre("one\ntwo\n\nthree|", "four|"));
}

TEST(TextSamples, a_long_paragraph_is_cut_and_its_rest_packed_on) {
  EXPECT_THAT(pack("abcdefgh\n\nx", 6), ElementsAre("abcde|", "fgh|", "x|"));
  EXPECT_THAT(pack("abcdefgh\n\nx", 7), ElementsAre("abcdef|", "gh\n\nx|"));
}

TEST(TextSamples, nothing_but_blank_lines_gives_no_sample) {
  EXPECT_THAT(pack("\n \n\t\r\n", 9), ElementsAre());
  EXPECT_THAT(pack("", 9), ElementsAre());
}

TEST(TextSamples, bytes_outside_ascii_keep_their_value) {
  Samples samples;
  add_text_samples("\xC3\xA9\xFF", 9, samples);
  EXPECT_THAT(samples, ElementsAre(ElementsAre(0xC3, 0xA9, 0xFF, end_of_sample)));
}

TEST(TokenSamples, a_line_is_a_sample_cut_at_the_longest) {
  Samples samples;
  ASSERT_TRUE(add_token_samples("1 2 3\n\n 4\t5\n6\n7 8 9 10\n", "f", {3, 11}, samples));
  EXPECT_THAT(samples, ElementsAre(ElementsAre(1, 2, 3), ElementsAre(4, 5), ElementsAre(7, 8, 9)));
}

TEST(TokenSamples, what_is_no_id_is_an_error_with_file_and_line) {
  for (const char* text :
       {"1 2\n3 11\n", "1 2\n-1 3\n", "1 2\n1 x\n", "1 2\n1 99999999999999999999"}) {
    Samples samples;
    const auto status = add_token_samples(text, "ids.txt", {3, 11}, samples);
    ASSERT_FALSE(status) << text;
    EXPECT_THAT(status.error().message, HasSubstr("ids.txt, line 2"));
    EXPECT_THAT(status.error().message, HasSubstr("0 to 10"));
  }
}

TEST(ReadSamples, a_folder_is_read_in_sorted_order_and_files_are_not_crossed) {
  const ScratchFolder folder;
  folder.write("b.md", "bb");
  folder.write("a/z.txt", "aa");
  folder.write("c.bin", "cc");
  const auto samples = read_samples({{folder.path()}, "text", 100, 257});
  ASSERT_TRUE(samples) << samples.error().message;
  ASSERT_EQ(samples->size(), 2U);
  EXPECT_EQ(decode((*samples)[0]), "aa|");
  EXPECT_EQ(decode((*samples)[1]), "bb|");
}

TEST(ReadSamples, every_way_to_have_no_data_is_an_error_that_says_what_to_do) {
  const ScratchFolder folder;
  folder.write("blank.txt", "\n\n");
  folder.write("empty/notes.bin", "x");
  const std::vector<Source> sources = {
      {{folder.path() + "/blank.txt"}, "text", 100, 257},
      {{folder.path() + "/empty"}, "text", 100, 257},
      {{folder.path() + "/blank.txt"}, "tokens", 100, 257},
      {{folder.path() + "/blank.txt"}, "text", 100, 256},
      {{folder.path() + "/blank.txt"}, "text", 1, 257},
      {{}, "text", 100, 257},
  };
  for (const Source& source : sources) {
    const auto samples = read_samples(source);
    ASSERT_FALSE(samples);
    EXPECT_FALSE(samples.error().message.empty());
    EXPECT_FALSE(samples.error().next.empty()) << samples.error().message;
  }
}

TEST(ReadSamples, data_without_a_sample_says_what_was_expected_and_what_is_there) {
  const ScratchFolder folder;
  folder.write("blank.txt", "\n\n");
  folder.write("empty/notes.bin", "x");
  const auto message = [&](const std::string& path, const std::string& kind) {
    return read_samples({{folder.file(path)}, kind, 100, 257}).error().message;
  };
  EXPECT_THAT(message("empty", "text"), HasSubstr("expected files that end in .txt or .md in " +
                                                  folder.file("empty") + ", found none"));
  EXPECT_THAT(message("blank.txt", "text"), HasSubstr("expected text to train on"));
  EXPECT_THAT(message("blank.txt", "text"), HasSubstr("found only blank lines"));
  EXPECT_THAT(message("blank.txt", "tokens"), HasSubstr("lines of two token ids or more"));
}

TEST(ReadSamples, a_missing_file_is_named) {
  const auto samples = read_samples({{"no/such.txt"}, "text", 100, 257});
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().code, Errc::not_found);
  EXPECT_THAT(samples.error().message, HasSubstr("no/such.txt"));
  EXPECT_THAT(samples.error().next, HasSubstr("set data.path to"));
}

}  // namespace
}  // namespace headroom::trainer::data
