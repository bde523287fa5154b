// SPDX-License-Identifier: Apache-2.0
#include "estimate/timeline.h"

#include <algorithm>
#include <utility>

#include "allocator/models/make_policy.h"
#include "base/bytes.h"
#include "base/require.h"
#include "estimate/step.h"

namespace headroom::estimate {
namespace {

constexpr std::size_t largest_max = 10;

// Half-open, of the recording's events.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
  bool contains(std::size_t event) const { return event >= begin && event < end; }
};

// What is live after an event, without its names.
struct Moment {
  std::uint64_t live_bytes = 0;
  std::uint64_t reserved_bytes = 0;
  allocator::ByComponent live;
};

struct Replayed {
  std::vector<Moment> moments;  // One for each event until the end or the refusal.
  std::size_t peak = 0;
  std::optional<std::uint32_t> refused;
  std::uint64_t reserved_peak_bytes = 0;
};

Replayed replay_all(const Recording& recording, allocator::Policy& policy) {
  Replayed replayed;
  std::vector<allocator::Address> addresses(recording.tensors.size());
  for (const Event& event : recording.events) {
    if (event.kind == Event::Kind::release) {
      policy.free(addresses[event.tensor]);
    } else if (event.kind == Event::Kind::retag) {
      policy.retag(addresses[event.tensor], event.component);
    } else {
      const auto address =
          policy.allocate({recording.tensors[event.tensor].meta.bytes(), event.component, 0});
      if (!address) {
        replayed.refused = event.tensor;
        break;
      }
      addresses[event.tensor] = *address;
    }
    const allocator::Usage& usage = policy.usage();
    replayed.moments.push_back({usage.live_bytes, usage.reserved_bytes, usage.live});
    if (usage.live_bytes > replayed.moments[replayed.peak].live_bytes)
      replayed.peak = replayed.moments.size() - 1;
  }
  replayed.reserved_peak_bytes = policy.usage().reserved_peak_bytes;
  return replayed;
}

// Where the phase goes from the optimizer's to another one, a step ends. What comes after the last
// allocation is the end of the program and belongs to none.
std::vector<Range> find_steps(const Recording& recording, std::size_t events) {
  std::vector<Range> steps;
  std::size_t begin = 0;
  while (begin < events && recording.events[begin].phase == Phase::load) ++begin;
  std::size_t end = events;
  while (end > begin && recording.events[end - 1].kind != Event::Kind::allocate) --end;
  for (std::size_t i = begin + 1; i < end; ++i) {
    const bool ends = recording.events[i - 1].phase == Phase::optimizer &&
                      recording.events[i].phase != Phase::optimizer;
    if (!ends) continue;
    steps.push_back({begin, i});
    begin = i;
  }
  if (begin < end) steps.push_back({begin, end});
  return steps;
}

// Loading, and the step that is worth seeing.
std::vector<Range> choose_ranges(const Recording& recording, const Replayed& replayed) {
  const std::vector<Range> steps = find_steps(recording, replayed.moments.size());
  if (steps.empty()) return {{0, replayed.moments.size()}};
  const Range loading{0, steps.front().begin};
  Range shown = steps.back();
  std::uint64_t highest = 0;
  for (std::size_t i = shown.begin; i < shown.end; ++i)
    highest = std::max(highest, replayed.moments[i].live_bytes);
  for (const Range& step : steps) {
    const bool holds_peak = step.contains(replayed.peak);
    if (holds_peak && replayed.moments[replayed.peak].live_bytes > highest) shown = step;
  }
  if (loading.size() == 0) return {shown};
  return {loading, shown};
}

std::vector<PhaseSpan> find_phases(const Recording& recording, const std::vector<Range>& ranges) {
  std::vector<PhaseSpan> phases;
  std::uint32_t shown = 0;
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    for (std::size_t i = ranges[r].begin; i < ranges[r].end; ++i, ++shown) {
      const Phase phase = recording.events[i].phase;
      const bool jumps = r > 0 && i == ranges[r].begin && ranges[r - 1].end != i;
      if (phases.empty() || phases.back().phase != phase || jumps)
        phases.push_back({phase, shown, shown, jumps});
      phases.back().end = shown + 1;
    }
  }
  return phases;
}

class Thinning {
 public:
  Thinning(const Recording& recording, const Replayed& replayed)
      : recording_(recording), replayed_(replayed) {}

  // The lowest and the highest moment of each of so many pieces, in order.
  std::vector<TimelinePoint> run(const std::vector<Range>& ranges, std::size_t buckets) const {
    std::size_t events = 0;
    for (const Range& range : ranges) events += range.size();
    const std::size_t piece = std::max<std::size_t>(1, (events + buckets - 1) / buckets);
    std::vector<TimelinePoint> points;
    std::size_t before = 0;
    for (const Range& range : ranges) {
      for (std::size_t begin = range.begin; begin < range.end; begin += piece)
        add_piece({begin, std::min(begin + piece, range.end)}, before - range.begin, points);
      before += range.size();
    }
    return points;
  }

 private:
  // `shift`: what makes the place on the axis of an event's number (it may wrap around).
  void add_piece(const Range& piece, std::size_t shift, std::vector<TimelinePoint>& points) const {
    const auto first = replayed_.moments.begin() + static_cast<std::ptrdiff_t>(piece.begin);
    const auto last = replayed_.moments.begin() + static_cast<std::ptrdiff_t>(piece.end);
    const auto less = [](const Moment& a, const Moment& b) { return a.live_bytes < b.live_bytes; };
    // max_element finds the first of equals, as a peak is where it was reached first.
    const auto lowest = static_cast<std::size_t>(std::min_element(first, last, less) - first);
    const auto highest = static_cast<std::size_t>(std::max_element(first, last, less) - first);
    for (const std::size_t offset : {std::min(lowest, highest), std::max(lowest, highest)}) {
      const std::size_t event = piece.begin + offset;
      points.push_back(describe(event, static_cast<std::uint32_t>(event + shift)));
      if (lowest == highest) break;
    }
  }

  TimelinePoint describe(std::size_t event, std::uint32_t place) const {
    const Event& happened = recording_.events[event];
    const Moment& moment = replayed_.moments[event];
    TimelinePoint point;
    point.event = place;
    point.phase = happened.phase;
    point.allocates = happened.kind == Event::Kind::allocate;
    point.tensor = recording_.name_of(happened.tensor);
    point.tensor_bytes = recording_.tensors[happened.tensor].meta.bytes();
    point.live_bytes = moment.live_bytes;
    point.reserved_bytes = moment.reserved_bytes;
    point.live = moment.live;
    return point;
  }

  const Recording& recording_;
  const Replayed& replayed_;
};

}  // namespace

Timeline make_timeline(const Recording& recording, allocator::Policy& policy, std::size_t buckets) {
  require(policy.usage().live_bytes == 0, "nothing lives in a timeline's policy at its start");
  require(buckets > 0, "a timeline has at least one bucket");
  const Replayed replayed = replay_all(recording, policy);
  const std::vector<Range> ranges = choose_ranges(recording, replayed);
  Timeline timeline;
  timeline.phases = find_phases(recording, ranges);
  timeline.events = timeline.phases.empty() ? 0 : timeline.phases.back().end;
  timeline.points = Thinning(recording, replayed).run(ranges, buckets);
  const auto peak = std::max_element(
      timeline.points.begin(), timeline.points.end(),
      [](const TimelinePoint& a, const TimelinePoint& b) { return a.live_bytes < b.live_bytes; });
  if (peak != timeline.points.end())
    timeline.peak = static_cast<std::size_t>(peak - timeline.points.begin());
  timeline.reserved_peak_bytes = replayed.reserved_peak_bytes;
  const std::vector<std::uint32_t> live = live_after(recording, replayed.peak);
  for (std::size_t i = 0; i < std::min(largest_max, live.size()); ++i)
    timeline.largest.push_back(recording.describe(live[i]));
  if (replayed.refused) timeline.refused = recording.describe(*replayed.refused);
  return timeline;
}

Result<Timeline> find_timeline(const Job& planned, const Architecture& model, const Device& device,
                               std::size_t buckets) {
  HEADROOM_TRY(const Recording recording, record_step(planned, model, device));
  if (device.capacity) {
    const Bytes left = saturating_sub(*device.capacity, device.context);
    HEADROOM_TRY(auto capped, allocator::make_policy(planned.device.allocator, left.value));
    Timeline timeline = make_timeline(recording, *capped, buckets);
    if (!timeline.refused) return timeline;
  }
  HEADROOM_TRY(auto plentiful, allocator::make_policy(planned.device.allocator));
  return make_timeline(recording, *plentiful, buckets);
}

}  // namespace headroom::estimate
