// SPDX-License-Identifier: Apache-2.0
#include "averager/kills.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <new>
#include <random>
#include <span>
#include <vector>

#include "averager/job.h"

namespace headroom::averager::testing {
namespace {

constexpr std::uint64_t whole_elements = 80'001;
constexpr std::uint64_t elements_in_pieces = 400'003;
constexpr std::uint32_t buckets_after = 4;

enum : int { right = 0, no_open = 10, failed, wrong };

// Of a bucket in pieces: the first of them may have had the ranks that were lost since.
bool is_average_in_pieces(std::span<const float> data, const Outcome& outcome,
                          std::uint64_t bucket) {
  std::uint64_t with_all = 0;
  const auto before = static_cast<protocol::RankMask>(outcome.present | outcome.lost);
  while (with_all < data.size() && data[with_all] == average_of(before, bucket, with_all))
    ++with_all;
  for (std::uint64_t index = with_all; index < data.size(); ++index)
    if (data[index] != average_of(outcome.present, bucket, index)) return false;
  return true;
}

// Averages until a rank is lost and a few buckets more. Every other bucket lies in the segment, and
// two are in flight.
int survive(const Options& options, bool in_pieces, std::atomic<std::uint32_t>& done) {
  const std::uint64_t elements = in_pieces ? elements_in_pieces : whole_elements;
  auto averager = Averager::open(options);
  if (!averager) return no_open;
  const auto memory = (*averager)->allocate(elements * sizeof(float));
  if (!memory) return no_open;
  std::vector<float> own(elements);
  const std::array data = {own.data(), reinterpret_cast<float*>(*memory)};
  std::uint32_t after = 0;
  for (std::uint64_t round = 0; after < buckets_after; ++round) {
    std::array<Averager::Ticket, 2> tickets = {};
    for (std::size_t one = 0; one < 2; ++one) {
      fill(data.at(one), elements, options.rank, 2 * round + one);
      const auto ticket = (*averager)->start({.data = reinterpret_cast<std::byte*>(data.at(one)),
                                              .elements = elements,
                                              .in_pieces = in_pieces});
      if (!ticket) return failed;
      tickets.at(one) = *ticket;
    }
    for (std::size_t one = 0; one < 2; ++one) {
      const auto outcome = (*averager)->wait(tickets.at(one));
      if (!outcome) return failed;
      if (!is_average_in_pieces({data.at(one), elements}, *outcome, 2 * round + one)) return wrong;
      if (!in_pieces && !is_average(data.at(one), elements, outcome->present, 2 * round + one))
        return wrong;
      if (outcome->lost != 0 || after != 0) ++after;
    }
    done.fetch_add(1);
  }
  return right;
}

// The count of rounds done, shared with the children.
class SharedCount {
 public:
  SharedCount()
      : memory_(::mmap(nullptr, sizeof(std::atomic<std::uint32_t>), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
        count_(new(memory_) std::atomic<std::uint32_t>(0)) {}
  ~SharedCount() { ::munmap(memory_, sizeof(std::atomic<std::uint32_t>)); }
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;
  std::atomic<std::uint32_t>& operator*() const { return *count_; }

 private:
  void* memory_;
  std::atomic<std::uint32_t>* count_;
};

}  // namespace

Kills run_kills(const KillPlan& plan) {
  std::mt19937 random(plan.seed);
  const auto below = [&](std::uint32_t end) {
    return std::uniform_int_distribution<std::uint32_t>(0, end - 1)(random);
  };
  Kills kills;
  for (std::uint32_t one = 0; one < plan.count; ++one) {
    const std::string job = fmt::format("kills.{}.{}", ::getpid(), one);
    const SharedCount done;
    std::vector<Child> children;
    for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
      auto options = options_of(job, plan.ranks, rank);
      options.times.silent_ms = plan.silent_ms;
      options.background = one % 4 >= 2;
      const bool in_pieces = one % 3 == 2;
      children.emplace_back(
          [&done, options, in_pieces] { return survive(options, in_pieces, *done); });
    }
    for (std::uint32_t ms = 0; (*done).load() == 0 && ms < plan.limit_ms; ++ms) rest_ms(1);
    ::usleep(below(20'000));
    const std::uint32_t victim = below(plan.ranks);
    children.at(victim).send(one % 2 == 0 ? SIGKILL : SIGSTOP);
    ++kills.tried;
    bool hung = false;
    bool is_wrong = false;
    for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
      const int status = children.at(rank).wait(std::chrono::milliseconds(plan.limit_ms));
      hung |= status == -1;
      is_wrong |= status != -1 && status != (rank == victim ? 128 + SIGKILL : right);
    }
    if (hung) ++kills.hung;
    if (is_wrong) ++kills.wrong;
    if (is_left_behind(job)) {
      ++kills.left_behind;
      ::unlink(options_of(job, 1, 0).place.path().c_str());
    }
  }
  return kills;
}

}  // namespace headroom::averager::testing
