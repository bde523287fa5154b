// SPDX-License-Identifier: Apache-2.0
#include "logs/sentence.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "knowledge/subjects.h"
#include "logs/log_reader.h"

namespace headroom::logs {
namespace {

TEST(Sentence, is_what_a_person_writes) {
  for (const char* line :
       {"The card is not found after the update to ROCm 6.2.",
        "Then I tried the older kernel, and it does the same thing", "Same test on ROCm 7.2 again",
        "- rocminfo does not list the second card"}) {
    EXPECT_TRUE(is_sentence(line)) << line;
  }
}

TEST(Sentence, is_nothing_that_a_program_prints) {
  for (const char* line :
       {"", "out of memory", "ERROR: the device is not in a state to run this",
        "[rank0] the watchdog is waiting for a collective to end",
        "12:30:01 the device is not in a state to run this",
        "RuntimeError: the size of a must match the size of b", "loss=0.3 at the end of the step",
        "- GPU: the one in the first slot",
        "amdgpu 0000:03:00.0: [gfxhub] page fault (src_id:0 ring:24 vmid:3 pasid:32770)"}) {
    EXPECT_FALSE(is_sentence(line)) << line;
  }
}

// What the reader keeps of a log without any signature of its own.
std::vector<std::uint64_t> lines_of_sentences(const std::string& log, std::size_t piece) {
  knowledge::Signature signature;
  signature.id = "oom";
  signature.match = "out of memory";
  const knowledge::SignatureTable table = {{signature}};
  const Matcher matcher = *Matcher::make(table);
  Observations observations;
  LogReader reader(matcher, observations, 0);
  for (std::size_t at = 0; at < log.size(); at += piece) {
    reader.feed(std::string_view(log).substr(at, piece));
  }
  reader.finish();
  std::vector<std::uint64_t> lines;
  for (const Observation* one : observations.of("sentence")) lines.push_back(one->line);
  return lines;
}

TEST(Sentence, is_kept_with_its_line_whether_or_not_a_signature_matches) {
  const std::string log =
      "step 1 loss 0.5\nThe job is out of memory after an hour.\n\nI have a card with 8 GB";
  const std::vector<std::uint64_t> expected = {2, 4};
  for (const std::size_t piece : {1U, 7U, 1000U}) {
    EXPECT_EQ(lines_of_sentences(log, piece), expected) << piece;
  }
}

TEST(Sentence, far_behind_the_beginning_of_a_log_is_not_looked_for) {
  const std::string told = "The job is out of memory after an hour.\n";
  std::string log = told;
  for (int i = 0; i < 5000; ++i) log += "step 1 loss 0.5\n";
  EXPECT_EQ(lines_of_sentences(log + told, log.size()), std::vector<std::uint64_t>{1});
}

TEST(Sentence, subjects_that_are_looked_for_in_sentences_compile) {
  const auto table = knowledge::load_subjects();
  ASSERT_TRUE(table.has_value()) << table.error().message;
  const auto matcher = Matcher::make(*table);
  EXPECT_TRUE(matcher.has_value()) << matcher.error().message;
}

}  // namespace
}  // namespace headroom::logs
