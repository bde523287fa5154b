// SPDX-License-Identifier: Apache-2.0
#include "logs/memory_figures.h"

#include <gtest/gtest.h>

namespace headroom::logs {
namespace {

constexpr double mib = 1024.0 * 1024;
constexpr double gib = 1024 * mib;

struct Expected {
  const char* line;
  MemoryKind kind;
  bool is_peak;
  double bytes;
  const char* unit;  // nullptr: no step.
  std::uint64_t step;
};

void expect_first(const Expected& expected) {
  const MemoryLine found = find_memory_figures(expected.line);
  ASSERT_FALSE(found.figures.empty()) << expected.line;
  const MemoryFigure& figure = found.figures.front();
  EXPECT_EQ(figure.kind, expected.kind) << expected.line;
  EXPECT_EQ(figure.is_peak, expected.is_peak) << expected.line;
  EXPECT_NEAR(static_cast<double>(figure.amount.value), expected.bytes, 2) << expected.line;
  ASSERT_EQ(found.step.has_value(), expected.unit != nullptr) << expected.line;
  if (!found.step) return;
  EXPECT_EQ(found.step->unit, expected.unit) << expected.line;
  EXPECT_EQ(found.step->number, expected.step) << expected.line;
}

TEST(MemoryFigures, are_read_from_the_lines_that_programs_print) {
  const Expected lines[] = {
      {"step 120 loss 2.31 mem 18.3GB", MemoryKind::device, false, 18.3e9, "step", 120},
      {"Memory allocated: 1234.5 MB", MemoryKind::allocated, false, 1234.5e6, nullptr, 0},
      {"torch.cuda.max_memory_allocated() = 14012345344", MemoryKind::allocated, true,
       14012345344.0, nullptr, 0},
      {"{'loss': 1.2, 'memory/max_mem_active(gib)': 13.25, 'epoch': 0.35}", MemoryKind::allocated,
       true, 13.25 * gib, nullptr, 0},
      {"      1/100      7.61G      1.234      2.345       18        640:  35%|###  | 70/200 "
       "[00:10<00:20,  6.5it/s]",
       MemoryKind::reserved, false, 7.61 * gib, "iteration", 70},
      {"MA 1.1 GB         Max_MA 1.2 GB         CA 1.3 GB         Max_CA 2 GB",
       MemoryKind::allocated, false, 1.1e9, nullptr, 0},
      {"Epoch: [0]  [  20/500]  eta: 0:01:02  lr: 0.01  loss: 0.5 (0.6)  time: 0.2  max mem: 5123",
       MemoryKind::device, true, 5123 * mib, "iteration", 20},
      {"Epoch(train) [1][50/500]  lr: 1.0e-02  eta: 0:10:00  time: 0.2  memory: 5123  loss: 0.9",
       MemoryKind::device, false, 5123 * mib, "iteration", 50},
      {"GPU[0]\t\t: VRAM Total Used Memory (B): 9126805504", MemoryKind::device, false,
       9126805504.0, nullptr, 0},
      {"1699: bus 03, gpu 12.50%, ee 0.00%, vram 12.34% 2034.12mb, gtt 0.5% 40.0mb",
       MemoryKind::device, false, 2034.12e6, nullptr, 0},
      {"| Allocated memory      |   1234 MiB |   2345 MiB |  99 GiB |", MemoryKind::allocated,
       false, 1234 * mib, nullptr, 0},
      {"| GPU reserved memory   |  20480 KiB |  20480 KiB |", MemoryKind::reserved, false, 20 * mib,
       nullptr, 0},
      {"batch 7: rss 1,234 MiB", MemoryKind::host, false, 1234 * mib, "batch", 7},
  };
  for (const Expected& one : lines) expect_first(one);
}

TEST(MemoryFigures, of_one_line_each_have_their_own_label) {
  const MemoryLine found =
      find_memory_figures("[epoch 1, batch 35] cuda:1 allocated: 14.2 GiB reserved: 19.1 GiB");
  ASSERT_EQ(found.figures.size(), 2U);
  EXPECT_EQ(found.figures[0].kind, MemoryKind::allocated);
  EXPECT_EQ(found.figures[1].kind, MemoryKind::reserved);
  EXPECT_EQ(found.figures[0].device, "cuda 1");
  ASSERT_TRUE(found.step.has_value());
  EXPECT_EQ(found.step->unit, "batch");
  EXPECT_EQ(found.step->number, 35U);
}

TEST(MemoryFigures, behind_a_stroke_are_the_capacity) {
  const MemoryLine found = find_memory_figures("GPU mem: 13.1/16.0 GiB");
  ASSERT_EQ(found.figures.size(), 1U);
  EXPECT_NEAR(static_cast<double>(found.figures[0].amount.value), 13.1 * gib, 2);
  ASSERT_TRUE(found.figures[0].capacity.has_value());
  EXPECT_EQ(*found.figures[0].capacity, 16_GiB);
}

TEST(MemoryFigures, that_are_not_in_use_are_left_out) {
  for (const char* line :
       {"free memory: 13.1 GiB", "Total memory: 16 GiB", "model buffer size = 13200.00 MiB",
        "memory bandwidth 512 GB/s", "Tried to allocate 2.00 GiB of memory", "step 5 loss 2.1",
        "mem -5 GiB", "mem nan GiB", "mem 1e308 GiB", "memory: 99999999999999999999999 GB",
        "Llama 7B loaded", "memory 2.4.1", "GPU memory utilization 0.9", "Mem: 32 GiBx"}) {
    EXPECT_TRUE(find_memory_figures(line).figures.empty()) << line;
  }
}

TEST(MemoryFigures, of_hostile_lines_are_bounded) {
  std::string line;
  for (int i = 0; i < 10'000; ++i) line += "mem" + std::to_string(i) + " mem 5 GB ";
  EXPECT_LE(find_memory_figures(line).figures.size(), 8U);
  EXPECT_TRUE(find_memory_figures(std::string(100'000, '9')).figures.empty());
  EXPECT_TRUE(find_memory_figures(std::string(5000, '\0') + "mem 5 GB").figures.empty());
  EXPECT_TRUE(find_memory_figures("").figures.empty());
}

}  // namespace
}  // namespace headroom::logs
