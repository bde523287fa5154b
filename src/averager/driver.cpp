// SPDX-License-Identifier: Apache-2.0
#include "averager/driver.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom::averager {
namespace {

using protocol::Action;
using protocol::bit;
using protocol::RankMask;
using protocol::Verb;

constexpr std::uint32_t slice_ms = 20;

Error expelled() {
  return {Errc::io,
          "the other ranks went on without this one: it was taken for dead and runs all the same",
          "start it again; it joins at the next step"};
}

}  // namespace

void Driver::stop() {
  stops_.store(true);
  segment_->bell().ring();
}

std::uint64_t Driver::access(const Action& action) const {
  Bell bell = segment_->bell();
  const bool is_bell = action.word.area == protocol::Area::bell;
  switch (action.verb) {
    case Verb::load:
      return is_bell ? bell.count() : segment_->word(action.word).load();
    case Verb::store:
      segment_->word(action.word).store(action.value);
      return 0;
    case Verb::exchange: {
      std::uint64_t before = action.expected;
      segment_->word(action.word).compare_exchange_strong(before, action.value);
      return before;
    }
    default:  // ring
      bell.ring();
      return 0;
  }
}

Status Driver::sleep(std::uint64_t seen) {
  if (stops_.load())
    return Error{Errc::io, "the averager was closed while a bucket was in flight", ""};
  if (const RankMask unended = watch_->unended(); unended != 0)
    return Error{Errc::busy,
                 fmt::format("rank {} does not take part any more, and its process could not be "
                             "ended: the others cannot go on while it may still write",
                             to_text(unended)),
                 "kill -9 the process of that rank, and start the job again"};
  segment_->bell().wait(static_cast<std::uint32_t>(seen), slice_ms);
  return Done{};
}

// How long each rank has been waited for without a break, as far as this process ran meanwhile.
void Driver::count_lateness(Lateness& late, RankMask waits_for, std::uint64_t slept_ms) {
  RankMask too_late = 0;
  for (std::uint32_t rank = 0; rank < segment_->self().ranks; ++rank) {
    std::uint64_t& one = late.at(rank);
    one = (waits_for & bit(rank)) != 0
              ? one + std::min<std::uint64_t>(slept_ms, std::uint64_t{2} * slice_ms)
              : 0;
    if (one > times_.absent_ms) too_late |= bit(rank);
  }
  if (too_late != 0) watch_->condemn(too_late);
}

template <class Machine, class Perform>
Status Driver::run(Machine& machine, const Perform& perform) {
  Lateness late = {};
  std::uint64_t before_ms = 0;
  while (true) {
    const Action action = machine.action();
    switch (action.verb) {
      case Verb::finished:
        return Done{};
      case Verb::sleep: {
        const std::uint64_t now = now_ms();
        count_lateness(late, machine.waits_for(), before_ms == 0 ? 0 : now - before_ms);
        before_ms = now;
        HEADROOM_CHECK(sleep(action.expected));
        machine.took(0);
        break;
      }
      case Verb::load:
      case Verb::store:
      case Verb::exchange:
      case Verb::ring:
        machine.took(access(action));
        break;
      default:
        machine.took(perform(action));
        break;
    }
  }
}

Status Driver::bring(protocol::Arrival& arrival, BucketWork& work) {
  HEADROOM_CHECK(run(arrival, [&](const Action&) {
    work.publish();
    return std::uint64_t{0};
  }));
  if (arrival.is_expelled()) return expelled();
  return Done{};
}

Status Driver::reduce(protocol::Reduction& reduction, BucketWork& work, Policy policy) {
  HEADROOM_CHECK(run(reduction, [&](const Action& action) -> std::uint64_t {
    switch (action.verb) {
      case Verb::compare:
        return work.compare(action.mask, reduction.expected(), policy);
      case Verb::sum:
        work.sum(action.chunk, action.mask);
        return 0;
      case Verb::push:
        work.push(action.chunk, action.mask, action.scratch);
        return 0;
      default:
        work.collect(action.chunk);
        return 0;
    }
  }));
  if (reduction.is_expelled()) return expelled();
  return Done{};
}

Status Driver::join(protocol::Joining& joining, std::uint32_t wait_ms) {
  const Deadline deadline(wait_ms);
  while (true) {
    const Action action = joining.action();
    if (action.verb == Verb::finished) break;
    if (action.verb != Verb::sleep) {
      joining.took(access(action));
      continue;
    }
    if (deadline.has_passed())
      return Error{Errc::busy,
                   fmt::format("expected the others to reach the border of a step within {} ms, "
                               "found them waiting or at work (ranks {})",
                               wait_ms, to_text(joining.waits_for())),
                   "allow more time, or start the rank again later"};
    HEADROOM_CHECK(sleep(action.expected));
    joining.took(0);
  }
  if (joining.is_alone())
    return Error{Errc::busy, "expected a job to join, found that its ranks have all left",
                 "start all ranks of the job"};
  return Done{};
}

Status Driver::meet(std::uint32_t wait_ms) {
  const Deadline deadline(wait_ms);
  while (true) {
    const std::uint32_t seen = segment_->bell().count();
    RankMask missing = 0;
    for (std::uint32_t rank = 0; rank < segment_->self().ranks; ++rank) {
      const auto life = protocol::to_life(segment_->member(rank).life.load()).life;
      if (life == protocol::Life::absent) missing |= bit(rank);
    }
    if (missing == 0) return Done{};
    if (deadline.has_passed())
      return Error{Errc::busy,
                   fmt::format("expected {} ranks within {} ms, found no rank {}",
                               segment_->self().ranks, wait_ms, to_text(missing)),
                   "start every rank of the job, with the same name and number of ranks"};
    HEADROOM_CHECK(sleep(seen));
  }
}

Status Driver::wait_for(std::uint32_t peer, const std::function<bool()>& is_ready) {
  Lateness late = {};
  std::uint64_t before_ms = 0;
  while (true) {
    const std::uint32_t seen = segment_->bell().count();
    if (is_ready()) return Done{};
    for (std::uint32_t rank = 0; rank < segment_->self().ranks; ++rank) {
      if (!protocol::is_live(segment_->member(rank).life.load()))
        return Error{Errc::io, fmt::format("rank {} is not there any more", rank), ""};
    }
    const std::uint64_t now = now_ms();
    count_lateness(late, bit(peer), before_ms == 0 ? 0 : now - before_ms);
    before_ms = now;
    HEADROOM_CHECK(sleep(seen));
  }
}

}  // namespace headroom::averager
