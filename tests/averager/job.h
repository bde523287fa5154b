// SPDX-License-Identifier: Apache-2.0
// Jobs whose ranks are child processes of a test, with names that no other job has.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "averager/averager.h"

namespace headroom::averager::testing {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;

// Options for a job of the test's own. The times are long beside what a busy machine may take.
Options options_of(const std::string& job, std::uint32_t ranks, std::uint32_t rank);

// Runs `work` in a child process, which ends with what it returns.
class Child {
 public:
  explicit Child(const std::function<int()>& work);
  // Ends it, if it has not ended.
  ~Child();
  Child(Child&& other) noexcept : pid_(other.pid_) { other.pid_ = 0; }
  Child& operator=(Child&&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const;
  // The exit status, or 128 + the signal that ended it; -1 if it did not end in time.
  int wait(std::chrono::milliseconds most = std::chrono::minutes(2));

 private:
  pid_t pid_ = 0;
};

// The value that `rank` brings to element `index` of a bucket; small whole numbers, so that sums
// are exact.
float value_of(std::uint32_t rank, std::uint64_t bucket, std::uint64_t index);
// What the average over the ranks has to be there, computed in the order of ranks.
float average_of(protocol::RankMask present, std::uint64_t bucket, std::uint64_t index);

void fill(float* data, std::uint64_t elements, std::uint32_t rank, std::uint64_t bucket);
bool is_average(const float* data, std::uint64_t elements, protocol::RankMask present,
                std::uint64_t bucket);

// Whether the job's segment is in /dev/shm.
bool is_left_behind(const std::string& job);

}  // namespace headroom::averager::testing
