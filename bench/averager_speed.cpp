// SPDX-License-Identifier: Apache-2.0
// Times the averager for averager.py: averager_speed average|copied|memcpy RANKS BYTES..., or
// averager_speed kills COUNT [SEED]. Prints one JSON object. Ranks are processes; `memcpy` is the
// floor: each rank reads and writes its bytes once, at the same time as the others.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "averager/averager.h"
#include "averager/kills.h"

namespace {

using headroom::averager::Averager;
using headroom::averager::Options;
using Clock = std::chrono::steady_clock;

struct Shared {
  std::atomic<std::uint32_t> waiting;
  std::atomic<std::uint32_t> round;
};

// All ranks go on when the last has come.
void meet(Shared& shared, std::uint32_t ranks) {
  const std::uint32_t round = shared.round.load();
  if (shared.waiting.fetch_add(1) + 1 == ranks) {
    shared.waiting.store(0);
    shared.round.fetch_add(1);
  }
  while (shared.round.load() == round) ::usleep(20);
}

// The median over batches of the time of one operation, as rank 0 sees it.
template <class Work>
double time(std::uint64_t bytes, Shared& shared, std::uint32_t ranks, const Work& work) {
  constexpr std::uint64_t batch_bytes = std::uint64_t{64} << 20U;
  const std::uint64_t batch = std::max<std::uint64_t>(1, batch_bytes / bytes);
  constexpr int batches = 7;
  work();
  std::vector<double> times;
  for (int one = 0; one < batches; ++one) {
    meet(shared, ranks);
    const auto begin = Clock::now();
    for (std::uint64_t repeat = 0; repeat < batch; ++repeat) work();
    const std::chrono::duration<double> taken = Clock::now() - begin;
    times.push_back(taken.count() / static_cast<double>(batch));
  }
  std::nth_element(times.begin(), times.begin() + batches / 2, times.end());
  return times[batches / 2];
}

Options options_for(std::uint32_t ranks, std::uint32_t rank, std::uint64_t most_bytes) {
  Options options;
  options.place.name = fmt::format("bench.{}", ::getppid());
  const char* chunk = std::getenv("HEADROOM_BENCH_CHUNK");
  options.terms = {
      .job = 1,
      .arena_bytes = most_bytes + 4096,
      .ranks = ranks,
      .slots = 4,
      .chunk_bytes = chunk != nullptr ? static_cast<std::uint32_t>(std::atoi(chunk)) : 131072,
      .policy = 0};
  options.rank = rank;
  return options;
}

std::vector<double> run_rank(const std::string& mode, std::uint32_t ranks, std::uint32_t rank,
                             const std::vector<std::uint64_t>& sizes, Shared& shared) {
  const std::uint64_t most = *std::max_element(sizes.begin(), sizes.end());
  std::vector<double> times;
  std::vector<std::byte> from(mode == "average" ? 0 : most, std::byte{1});
  std::vector<std::byte> to(mode == "memcpy" ? most : 0, std::byte{1});
  if (mode == "memcpy") {
    for (const std::uint64_t bytes : sizes)
      times.push_back(time(bytes, shared, ranks, [&] {
        std::memcpy(to.data(), from.data(), bytes);
        asm volatile("" : : "r"(to.data()) : "memory");
      }));
    return times;
  }
  const auto averager = Averager::open(options_for(ranks, rank, most));
  if (!averager) {
    fmt::print(stderr, "averager_speed: {}\n", averager.error().message);
    return {};
  }
  std::byte* data = from.data();
  if (mode == "average") {
    const auto memory = (*averager)->allocate(most);
    if (!memory) return {};
    data = *memory;
    std::memset(data, 1, most);
  }
  for (const std::uint64_t bytes : sizes)
    times.push_back(time(bytes, shared, ranks, [&] {
      const auto ticket = (*averager)->start(
          {.data = data, .elements = bytes / sizeof(float), .in_pieces = mode == "copied"});
      if (!ticket || !(*averager)->wait(*ticket)) std::_Exit(1);
    }));
  return times;
}

int run_speed(const std::string& mode, std::uint32_t ranks,
              const std::vector<std::uint64_t>& sizes) {
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& shared = *new (memory) Shared{};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (::fork() != 0) continue;
    const auto times = run_rank(mode, ranks, rank, sizes, shared);
    if (rank == 0 && !times.empty()) {
      std::string text;
      for (std::size_t one = 0; one < times.size(); ++one)
        text += fmt::format("{}\"{}\": {}", one == 0 ? "" : ", ", sizes[one], times[one]);
      fmt::print("{{{}}}\n", text);
      static_cast<void>(std::fflush(stdout));
    }
    ::_exit(times.empty() ? 1 : 0);
  }
  int failed = 0;
  int status = 0;
  while (::wait(&status) > 0) failed |= status;
  return failed == 0 ? 0 : 1;
}

int run_kills(std::uint32_t count, std::uint32_t seed) {
  const auto kills = headroom::averager::testing::run_kills({.count = count, .seed = seed});
  fmt::print("{{\"tried\": {}, \"hung\": {}, \"wrong\": {}, \"left_behind\": {}}}\n", kills.tried,
             kills.hung, kills.wrong, kills.left_behind);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string> given(words + 1, words + count);
  const auto number = [&](std::size_t at) { return std::strtoull(given[at].c_str(), nullptr, 10); };
  if (given.size() >= 2 && given[0] == "kills")
    return run_kills(static_cast<std::uint32_t>(number(1)),
                     given.size() > 2 ? static_cast<std::uint32_t>(number(2)) : 1);
  std::vector<std::uint64_t> sizes;
  for (std::size_t at = 2; at < given.size(); ++at) sizes.push_back(number(at));
  if (!sizes.empty()) return run_speed(given[0], static_cast<std::uint32_t>(number(1)), sizes);
  fmt::print(stderr,
             "expected: averager_speed average|copied|memcpy RANKS BYTES..., or kills COUNT\n");
  return 2;
}
