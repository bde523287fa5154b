// SPDX-License-Identifier: Apache-2.0
#include "trainer/ranks/shared_group.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "averager/layout.h"
#include "run/job_ranks.h"
#include "trainer/ranks/ranks.h"

namespace headroom::trainer {
namespace {

using averager::ElementType;
static_assert(run::most_job_ranks == averager::protocol::max_ranks);

constexpr std::uint32_t meet_ms = 60'000, silent_ms = 10'000;
// How far apart ranks may be: one writes a checkpoint while the others wait, and a micro-batch of a
// large model takes minutes on a processor. One that ended is noticed at once all the same.
constexpr std::uint32_t absent_ms = 30 * 60'000;
constexpr std::uint32_t slots = 2, chunk_bytes = 128U << 10U;
// What is copied and summed at once fits the caches that cores share (averager/averager.h).
constexpr std::uint64_t most_staging = 1U << 20U, least_staging = 256U << 10U;
constexpr std::uint64_t staging_of_stages = 2U << 20U;
constexpr const char* folder = "/dev/shm";

// A function of the file system's size and not of what is free, so that all ranks find the same.
std::uint64_t staging_for(std::uint32_t ranks) {
  struct statvfs system {};
  if (::statvfs(folder, &system) != 0) return least_staging;
  const std::uint64_t half = std::uint64_t{system.f_blocks} * system.f_frsize / 2 / ranks;
  return std::clamp(half, least_staging, most_staging) / averager::page_bytes *
         averager::page_bytes;
}

// Of the arena: the pieces that are added up or told, and streams. Ranks that share a model's
// layers add little up.
std::uint64_t arena_for(std::uint32_t ranks, std::uint64_t message_bytes) {
  if (message_bytes == 0) return staging_for(ranks);
  return staging_of_stages + averager::Streams::bytes_for(message_bytes);
}

averager::Options options_for(const RankPlace& place, std::uint64_t job,
                              std::uint64_t message_bytes) {
  averager::Options options;
  options.place.name = place.job + ".train";
  options.terms = {.job = job,
                   .arena_bytes = arena_for(place.ranks, message_bytes),
                   .ranks = place.ranks,
                   .slots = slots,
                   .chunk_bytes = chunk_bytes,
                   .policy = static_cast<std::uint32_t>(place.goes_on ? averager::Policy::finish
                                                                      : averager::Policy::fail)};
  options.rank = place.rank;
  options.meet_ms = place.comes_back ? absent_ms : meet_ms;  // To the border of a step.
  options.times = {.silent_ms = silent_ms, .absent_ms = absent_ms};
  return options;
}

class SharedGroup final : public RankGroup {
 public:
  static Result<std::unique_ptr<RankGroup>> make(const averager::Options& options,
                                                 const RankPlace& place,
                                                 std::uint64_t message_bytes) {
    auto group = std::make_unique<SharedGroup>();
    // Who comes back while the others come to their end finds nobody, or nothing.
    const std::string path = options.place.path();
    if (place.comes_back && ::access(path.c_str(), F_OK) != 0) return ended_by_another_rank();
    auto opened = averager::Averager::open(options);
    if (!opened && place.comes_back) return ended_by_another_rank();
    HEADROOM_TRY(group->averager_, std::move(opened));
    // All are here, and where nobody comes later nothing can be left behind without a name. Others
    // of them may have removed it already.
    if (!place.admits) static_cast<void>(::unlink(path.c_str()));
    group->bytes_ = message_bytes == 0 ? options.terms.arena_bytes : staging_of_stages;
    HEADROOM_TRY(group->staging_, group->averager_->allocate(group->bytes_));
    if (message_bytes > 0) {
      HEADROOM_TRY(averager::Streams streams,
                   averager::Streams::make(*group->averager_, message_bytes));
      group->streams_.emplace(std::move(streams));
    }
    return std::unique_ptr<RankGroup>(std::move(group));
  }

  std::byte* staging() override { return staging_; }
  std::uint64_t staging_bytes() const override { return bytes_; }
  std::uint32_t present() const override { return averager_->expected(); }
  averager::Streams* streams() override { return streams_ ? &*streams_ : nullptr; }

  Result<std::uint32_t> sum(ElementType type, std::uint64_t elements) override {
    HEADROOM_TRY(
        const averager::Outcome outcome,
        do_with_all(
            {.kind = averager::Kind::sum, .type = type, .data = staging_, .elements = elements}));
    return outcome.present;
  }

  Result<std::uint32_t> broadcast(std::uint32_t from, std::uint64_t bytes) override {
    constexpr std::uint64_t unit = averager::bytes_of(ElementType::float32);
    HEADROOM_TRY(const averager::Outcome outcome,
                 do_with_all({.kind = averager::Kind::broadcast,
                              .type = ElementType::float32,
                              .data = staging_,
                              .elements = (bytes + unit - 1) / unit,
                              .root = from}));
    return outcome.present;
  }

  Result<Border> border() override {
    HEADROOM_TRY(const averager::Outcome outcome, do_with_all({.kind = averager::Kind::step}));
    return Border{.present = outcome.present, .joined = outcome.joined};
  }

 private:
  Result<averager::Outcome> do_with_all(const averager::Request& request) {
    HEADROOM_TRY(const auto ticket, averager_->start(request));
    auto outcome = averager_->wait(ticket);
    if (!outcome && outcome.error().code == Errc::io) return ended_by_another_rank();
    if (!outcome) return std::move(outcome).error();
    return *outcome;
  }

  std::uint64_t bytes_ = 0;
  std::byte* staging_ = nullptr;  // In the segment.
  std::unique_ptr<averager::Averager> averager_;
  std::optional<averager::Streams> streams_;
};

}  // namespace

Result<std::unique_ptr<RankGroup>> join_shared_memory(
    const RankPlace& place, std::uint64_t job, std::shared_ptr<averager::SharedMapping> mapping,
    std::uint64_t message_bytes) {
  averager::Options options = options_for(place, job, message_bytes);
  options.mapping = std::move(mapping);
  return SharedGroup::make(options, place, message_bytes);
}

}  // namespace headroom::trainer
