// SPDX-License-Identifier: Apache-2.0
#include "logs/restore_paste.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "knowledge/signatures.h"

namespace headroom::logs {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Matcher& matcher() {
  static const knowledge::SignatureTable table = *knowledge::load_signatures();
  static const Matcher made = *Matcher::make(table);
  return made;
}

// The lines that come out, or "as it is".
std::vector<std::string> restored(std::string_view text) {
  const auto lines = restore_paste(text, matcher());
  if (!lines) return {"as it is"};
  std::vector<std::string> texts;
  for (const PastedLine& line : *lines) texts.push_back(line.text);
  return texts;
}

constexpr const char* oom =
    "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 96.00 MiB. GPU 0 has a total "
    "capacity of 19.98 GiB of which 0 bytes is free.";

TEST(RestorePaste, a_terminal_cuts_words_and_numbers) {
  const auto lines = restore_paste(
      "step 1\ntorch.OutOfMemoryError: HIP out of memory. Tried to allocate 96.00 Mi\nB. GPU 0 has "
      "a "
      "total capacity of 19.98 GiB of which 0 bytes is free.\nAborted\n",
      matcher());
  ASSERT_TRUE(lines.has_value());
  ASSERT_EQ(lines->size(), 3U);
  EXPECT_EQ((*lines)[1].text, oom);
  EXPECT_EQ((*lines)[1].number, 2U);
  EXPECT_EQ((*lines)[2].number, 4U);
}

TEST(RestorePaste, a_command_goes_on_behind_a_backslash) {
  EXPECT_THAT(restored("$ docker run \\\n  --device /dev/kfd \\\n  image\nready\n"),
              ElementsAre("$ docker run --device /dev/kfd image", "ready"));
  EXPECT_THAT(restored("cd C:\\Users\\me\\\ndir\n"), ElementsAre("as it is"));
  EXPECT_THAT(restored("lost \\\n\nready\n"), ElementsAre("as it is"));
}

TEST(RestorePaste, a_mail_folds_at_blanks) {
  EXPECT_THAT(
      restored(
          "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 96.00\nMiB. GPU 0 has a "
          "total capacity of 19.98 GiB of which 0 bytes is\nfree.\nAborted\n"),
      ElementsAre(oom, "Aborted"));
}

TEST(RestorePaste, a_person_folds_where_a_sentence_ends) {
  EXPECT_THAT(restored("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 96.00 MiB.\n"
                       "GPU 0 has a total capacity of 19.98 GiB of which 0 bytes is free.\n"),
              ElementsAre(oom));
}

TEST(RestorePaste, a_hanging_indent_is_no_part_of_the_message) {
  EXPECT_THAT(
      restored(
          "torch.OutOfMemoryError: HIP out of memory. Tried to allo\n    cate 96.00 MiB. GPU 0 "
          "has a total capacity of 19.98\n     GiB of which 0 bytes is free.\n"),
      ElementsAre(oom));
}

TEST(RestorePaste, a_prefix_may_stand_at_the_first_piece_or_at_each) {
  const std::string prefix = "May 10 07:52:21 box ollama[7411]: ";
  const std::string first =
      "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 5030.00 MiB on ";
  const std::string second = "device 0: cudaMalloc failed: out of memory";
  const std::string other = prefix + "load_tensors: offloaded 8/62 layers to GPU";
  EXPECT_THAT(restored(prefix + first + "\n" + second + "\n" + other + "\n"),
              ElementsAre(prefix + first + second, other));
  EXPECT_THAT(restored(prefix + first + "\n" + prefix + second + "\n" + other + "\n"),
              ElementsAre(prefix + first + second, other));
}

TEST(RestorePaste, marks_of_quotation_go_also_nested_ones_but_pythons_prompt_stays) {
  EXPECT_THAT(restored("> > >>> import torch\n> > Aborted\n"),
              ElementsAre(">>> import torch", "Aborted"));
  EXPECT_THAT(restored(">>> import torch\n>>> torch.cuda.is_available()\nFalse\n"),
              ElementsAre("as it is"));
}

TEST(RestorePaste, line_numbers_go_but_numbers_of_devices_stay) {
  EXPECT_THAT(restored("   9 | $ rocminfo\n  10 |\n  11 | ROCk module is loaded\n"),
              ElementsAre("$ rocminfo", "", "ROCk module is loaded"));
  EXPECT_THAT(restored("L1 $ rocminfo\nL2 ROCk module is loaded\n"),
              ElementsAre("$ rocminfo", "ROCk module is loaded"));
  EXPECT_THAT(restored("0: AMD Radeon RX 7900 XTX\n1: AMD Radeon Graphics\n"),
              ElementsAre("as it is"));
  EXPECT_THAT(restored("7\n8\n9\n"), ElementsAre("as it is"));
}

TEST(RestorePaste, fences_and_tags_are_no_lines_of_the_log) {
  EXPECT_THAT(restored("Help!\n```text\n$ rocminfo\n```\n<pre>\nAborted\n</pre>\n"),
              ElementsAre("Help!", "$ rocminfo", "Aborted"));
}

TEST(RestorePaste, letters_of_pages_and_editors_become_those_of_the_log) {
  EXPECT_THAT(restored("&gt;&gt;&gt; print(&quot;a &amp; b&quot;)\n"),
              ElementsAre(">>> print(\"a & b\")"));
  EXPECT_THAT(restored("export A=\u201Cb\u201D\n"), ElementsAre("export A=\"b\""));
  EXPECT_THAT(restored("Aborted^M\n^[[31mKilled^[[0m\n"), ElementsAre("Aborted", "Killed"));
  EXPECT_THAT(restored("In [3]: import torch\n   ...: x = 1\nOut[3]: 7\n"),
              ElementsAre(">>> import torch", "... x = 1", "7"));
}

TEST(RestorePaste, markdown_and_word_processors_change_letters_too) {
  EXPECT_THAT(restored("HIP\\_VISIBLE\\_DEVICES=0 \\*\n"), ElementsAre("HIP_VISIBLE_DEVICES=0 *"));
  EXPECT_THAT(restored("C:\\my_files\\_old\n  O^O/ \\_/ \\ 2.8.0\n"), ElementsAre("as it is"));
  EXPECT_THAT(restored("Aborted<br>\nKilled<br/>\n"), ElementsAre("Aborted", "Killed"));
  EXPECT_THAT(restored("$ vllm serve \u2014gpu-memory-utilization 0.95 \u201Cm\u201D\n"),
              ElementsAre("$ vllm serve --gpu-memory-utilization 0.95 \"m\""));
}

TEST(RestorePaste, blanks_that_fill_up_a_line_hide_no_fold) {
  const std::string line(oom);
  const auto padded = [](const std::string& text) {
    return text + std::string(100 - text.size(), ' ') + "\n";
  };
  EXPECT_THAT(restored(padded(line.substr(0, 80)) + padded(line.substr(80)) + padded("Aborted")),
              ElementsAre(oom, "Aborted"));
  // Alone they are no sign of a paste: rocminfo fills up its lines, too.
  EXPECT_THAT(restored(padded("Agent 1") + padded("Name: gfx1100")), ElementsAre("as it is"));
}

TEST(RestorePaste, what_programs_write_themselves_stays) {
  // coreutils' marks, a URL's entity beside a bare bracket, seconds in brackets.
  EXPECT_THAT(restored("cat: \u2018x\u2019: No such thing\n<a> &amp; b\n[20m 53s] Step 1010\n"
                       "INFO 11-05 12:00:25 [metrics.py:455] Running: 7 reqs\n"),
              ElementsAre("as it is"));
}

TEST(RestorePaste, panes_that_stand_side_by_side_are_read_one_by_one) {
  std::string text;
  const std::vector<std::string> left = {"ggml: allocating 5030.00 MiB on device 0: cuda",
                                         "Malloc failed: out of memory", "Aborted"};
  for (const std::string& line : left) {
    text += line + std::string(46 - line.size(), ' ') + "\u2502 load 0.1\n";
  }
  text += "[main] 0:train* 1:top-      \"box\" 07:52 10-May-25\n";
  const auto lines = restored(text);
  EXPECT_EQ(lines[0], left[0] + left[1]);
  EXPECT_EQ(lines[1], "Aborted");
  EXPECT_EQ(lines[2], " load 0.1");
}

TEST(RestorePaste, a_block_of_a_page_was_folded_by_itself) {
  EXPECT_THAT(
      restored("### The memory of an integrated GPU\n\nThis GPU shares the memory of the system, "
               "and when the runtime asks for memory for its first model it says:\n\n```\n"
               "Memory critical error by agent node-0 (Agent handle: 0x7fc7f1d9a5e0)\n"
               "on address 0x7fc846a02000. Reason: Memory in use.\n```\n\n"),
      Contains(AllOf(HasSubstr("agent node-0"), HasSubstr("Reason: Memory in use."))));
}

TEST(RestorePaste, nothing_is_joined_across_what_was_left_out) {
  EXPECT_THAT(
      restored("```\nggml: allocating 5030.00 MiB on device 0: cuda\n[...]\nMalloc failed: out of "
               "memory\n```\n"),
      ElementsAre("ggml: allocating 5030.00 MiB on device 0: cuda", "[...]",
                  "Malloc failed: out of memory"));
}

TEST(RestorePaste, a_pipe_is_no_mark_of_docker_compose) {
  EXPECT_THAT(
      restored("$ grep -E \"upgraded (rocm-core|hip-runtime)\" /var/log/pacman\n.log | tail -1\n"
               "[2025-08-27T09:11:52-0700] [ALPM] upgraded rocm-core (6.4.1-\n1 -> 6.4.3-1)\n"),
      ElementsAre("$ grep -E \"upgraded (rocm-core|hip-runtime)\" /var/log/pacman.log | tail -1",
                  "[2025-08-27T09:11:52-0700] [ALPM] upgraded rocm-core (6.4.1-1 -> 6.4.3-1)"));
}

TEST(RestorePaste, a_command_and_what_it_printed_stay_apart) {
  EXPECT_THAT(restored("$ cat /sys/class/drm/card1/device/mem_info_vram_total\n103079215104\n"),
              ElementsAre("as it is"));
}

TEST(RestorePaste, what_goes_on_in_a_wider_line_was_not_cut) {
  EXPECT_THAT(
      restored("ROCk module is loaded\n"
               "Unable to open /dev/kfd read-write: Permission denied\n"
               "anna is not member of \"render\" group, the default DRM access group. Users "
               "must be a member of the \"render\" group or another DRM access group in "
               "order for ROCm applications to run successfully.\n"),
      ElementsAre("as it is"));
}

TEST(RestorePaste, a_message_about_memory_is_joined_behind_its_sentences) {
  EXPECT_THAT(restored("torch.OutOfMemoryError: HIP out of memory. \n"
                       "  Tried to allocate 8.00 MiB. GPU 0 has a total capacity of 15.98 GiB of "
                       "which 9.00 GiB is free. \n"
                       "Of the allocated memory 1.00 GiB is allocated by PyTorch.\n"
                       "GPU is idle\n"),
              ElementsAre("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 8.00 MiB. "
                          "GPU 0 has a total capacity of 15.98 GiB of which 9.00 GiB is free. Of "
                          "the allocated memory 1.00 GiB is allocated by PyTorch.",
                          "GPU is idle"));
  EXPECT_THAT(restored("The job ran out of memory.\nProcess 12 was killed\n"),
              ElementsAre("as it is"));
}

TEST(RestorePaste, tables_stay) {
  const std::string rule(80, '=');
  EXPECT_THAT(restored(rule + "\n" + std::string(76, 'a') + " | |\n" + std::string(76, 'b') +
                       " | |\n" + rule + "\n"),
              ElementsAre("as it is"));
}

}  // namespace
}  // namespace headroom::logs
