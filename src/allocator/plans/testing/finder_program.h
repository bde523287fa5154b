// SPDX-License-Identifier: Apache-2.0
// For tests: plays a program to an IterationFinder, remembers all of it, and compares each
// iteration that is found with what was really requested.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocator/plans/iteration_finder.h"

namespace headroom::allocator {

class FinderProgram {
 public:
  std::size_t allocate(std::uint64_t bytes, StreamId stream = 0) {
    if (finder_.ends_here()) compare();
    const std::uint64_t number = finder_.note_allocate(bytes, stream);
    EXPECT_EQ(number, log_.size());
    log_.push_back({bytes, stream, IterationBlock::never});
    return log_.size() - 1;
  }
  void free(std::size_t number) {
    finder_.note_free(number, log_[number].bytes);
    log_[number].dies = static_cast<std::uint32_t>(log_.size());
  }
  void pass(std::uint64_t bytes, StreamId stream = 0) { free(allocate(bytes, stream)); }

  // The sizes, in blocks, of the iterations found so far, and where each of them ended.
  const std::vector<std::size_t>& found() const { return found_; }
  const std::vector<std::size_t>& ends() const { return ends_; }
  std::size_t allocations() const { return log_.size(); }
  const IterationFinder& finder() const { return finder_; }

 private:
  void compare() {
    const Iteration& last = finder_.last();
    found_.push_back(last.size());
    ends_.push_back(log_.size());
    ASSERT_LE(last.size(), log_.size());
    const std::size_t begin = log_.size() - last.size();
    for (std::size_t i = 0; i < last.size(); ++i) {
      IterationBlock expected = log_[begin + i];
      if (expected.dies != IterationBlock::never)
        expected.dies -= static_cast<std::uint32_t>(begin);
      ASSERT_EQ(last[i], expected) << "block " << i << " of " << last.size();
    }
  }

  IterationFinder finder_;
  Iteration log_;  // `dies` counts from the beginning of the program.
  std::vector<std::size_t> found_;
  std::vector<std::size_t> ends_;
};

}  // namespace headroom::allocator
