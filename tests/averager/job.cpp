// SPDX-License-Identifier: Apache-2.0
#include "averager/job.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <csignal>
#include <thread>

namespace headroom::averager::testing {

Options options_of(const std::string& job, std::uint32_t ranks, std::uint32_t rank) {
  Options options;
  options.place.name = fmt::format("test.{}", job);
  options.terms = {.job = 7,
                   .arena_bytes = 4 * mebibyte,
                   .ranks = ranks,
                   .slots = 4,
                   .chunk_bytes = 65536,
                   .policy = static_cast<std::uint32_t>(Policy::finish)};
  options.rank = rank;
  options.times = {.silent_ms = 30'000, .absent_ms = 600'000};
  return options;
}

Child::Child(const std::function<int()>& work) : pid_(::fork()) {
  if (pid_ == 0) ::_exit(work());
}

Child::~Child() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Child::send(int signal) const {
  ::kill(pid_, signal);
}

int Child::wait(std::chrono::milliseconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  int status = 0;
  while (::waitpid(pid_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) return -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

float value_of(std::uint32_t rank, std::uint64_t bucket, std::uint64_t index) {
  return static_cast<float>((index * 7 + bucket * 131 + rank * 1009) % 4096) - 2048.0F;
}

float average_of(protocol::RankMask present, std::uint64_t bucket, std::uint64_t index) {
  float sum = 0;
  for (std::uint32_t rank = 0; rank < protocol::max_ranks; ++rank)
    if ((present & protocol::bit(rank)) != 0) sum += value_of(rank, bucket, index);
  return sum / static_cast<float>(std::popcount(present));
}

void fill(float* data, std::uint64_t elements, std::uint32_t rank, std::uint64_t bucket) {
  for (std::uint64_t index = 0; index < elements; ++index)
    data[index] = value_of(rank, bucket, index);
}

bool is_average(const float* data, std::uint64_t elements, protocol::RankMask present,
                std::uint64_t bucket) {
  for (std::uint64_t index = 0; index < elements; ++index)
    if (data[index] != average_of(present, bucket, index)) return false;
  return true;
}

bool is_left_behind(const std::string& job) {
  return ::access(options_of(job, 1, 0).place.path().c_str(), F_OK) == 0;
}

}  // namespace headroom::averager::testing
