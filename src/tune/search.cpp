// SPDX-License-Identifier: Apache-2.0
#include "tune/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/require.h"
#include "base/text.h"

namespace headroom::tune {
namespace {

using Role = TuneSetting::Role;

constexpr std::uint64_t whole_by_part = 10;       // A tenth of what an exhaustive search takes.
constexpr std::uint64_t fewest_for_a_tenth = 40;  // Points; of fewer each is tried about once.
constexpr std::uint64_t fewest_starts = 10;
constexpr std::uint64_t starts_by_part = 4;
constexpr std::uint64_t most_explored = 40;
constexpr std::uint64_t many_starts = 20;
constexpr std::uint64_t most_final_starts = 6;  // Of four, and then of two of them.
// What differs between two starts of the same configuration, as a part of its time.
constexpr double start_noise = 0.02;
// Where no point promises to be this much faster, the winner is clear.
constexpr double worth_a_start = 0.001;
// A gain by half as many requests is worth more; not as much more as it would be if requests were
// all that a start costs.
constexpr double by_cost = 0.5;

// In octaves, where all values are numbers above nothing; else each is an octave from the next.
std::vector<double> places_of(const std::vector<std::string>& values) {
  std::vector<double> places;
  for (const std::string& value : values) {
    const auto number = parse_double(value);
    if (!number || *number <= 0) break;
    places.push_back(std::log2(*number));
  }
  if (places.size() < values.size()) {
    places.resize(values.size());
    std::iota(places.begin(), places.end(), 0.0);
  }
  return places;
}

// What is known of every service: as long as there are cores left, twice as much at once takes half
// the time; beyond that they are in each other's way.
double trend_of(const Space& space, const Point& point, double cores) {
  constexpr double harm = 0.15;
  const double at_once = space.of_role(point, Role::workers).value_or(1) *
                         space.of_role(point, Role::threads).value_or(1);
  if (at_once <= 0 || cores <= 0) return 0;
  return -std::log(std::min(at_once, cores)) + harm * std::max(0.0, std::log2(at_once / cores));
}

Surrogate surrogate_for(const Space& space, double cores) {
  std::vector<std::vector<double>> places;
  places.reserve(space.axes.size());
  for (const Axis& axis : space.axes) places.push_back(places_of(axis.setting.values));
  std::vector<std::vector<double>> where;
  std::vector<double> trend;
  for (const Point& point : space.points) {
    std::vector<double> place(point.size());
    for (std::size_t i = 0; i < point.size(); ++i) place[i] = places[i][point[i]];
    where.push_back(std::move(place));
    trend.push_back(trend_of(space, point, cores));
  }
  return {std::move(where), std::move(trend)};
}

// Whether `more` has at least as much of everything that costs memory.
bool takes_no_less(const Space& space, const Point& more, const Point& less) {
  for (std::size_t i = 0; i < more.size(); ++i) {
    const bool counts = space.axes[i].setting.role != Role::none;
    if (counts ? more[i] < less[i] : more[i] != less[i]) return false;
  }
  return true;
}

bool differ_in_workers(const Space& space, const Point& a, const Point& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (space.axes[i].setting.role != Role::workers && a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace

Search::Search(const Space& space, SearchOrder order)
    : space_(space), order_(order), surrogate_(surrogate_for(space, order.cores)) {
  require(!space.points.empty() && order.repeat > 0 && order.at_once > 0,
          "a search has points and requests");
  const std::uint64_t points = space.points.size();
  const std::uint64_t all = points * order_.repeat;
  budget_ = all / whole_by_part;
  explored_most_ = std::clamp(points / starts_by_part, fewest_starts, most_explored);
  if (points >= fewest_for_a_tenth) return;
  // Each about once, and the better ones again.
  budget_ = std::max(budget_, std::min(points, fewest_starts) * first_timed() + 2 * final_timed());
}

std::uint64_t Search::first_timed() const {
  return std::min(std::max<std::uint64_t>(4, order_.repeat / 5), order_.repeat);
}

std::uint64_t Search::final_timed() const {
  return std::min(std::max<std::uint64_t>(8, order_.repeat / 2), order_.repeat);
}

Ask Search::ask_for(std::size_t point, std::uint64_t timed) const {
  const std::uint64_t warm_up = warm_up_of(space_, space_.points[point], order_.at_once);
  return {point, warm_up + timed, warm_up};
}

std::uint64_t Search::most_starts() const {
  const std::uint64_t explored = std::min<std::uint64_t>(explored_most_, space_.points.size());
  return explored + (explored > many_starts ? most_final_starts : 2);
}

std::uint64_t Search::most_requests() const {
  std::uint64_t warm_up = 0;
  for (const Point& point : space_.points)
    warm_up = std::max(warm_up, warm_up_of(space_, point, order_.at_once));
  return budget_ + most_starts() * warm_up;
}

Tried& Search::of(std::size_t point) {
  for (Tried& one : tried_) {
    if (one.point == point) return one;
  }
  tried_.emplace_back();
  tried_.back().point = point;
  return tried_.back();
}

const Tried* Search::find(std::size_t point) const {
  const auto found = std::find_if(tried_.begin(), tried_.end(),
                                  [point](const Tried& one) { return one.point == point; });
  return found == tried_.end() ? nullptr : &*found;
}

void Search::tell_present(const Measured& measured) {
  if (!space_.present || measured.end != Measured::End::passed) return;
  const std::uint64_t warm_up = warm_up_of(space_, space_.points[*space_.present], order_.at_once);
  const auto counted = counted_of(measured.requests_ms, warm_up);
  const auto ms = item_ms(measured.requests_ms, order_.at_once, warm_up);
  if (!ms) return;
  present_ = space_.present;
  noise_ = noise_of(counted);
  Tried& one = of(*present_);
  one.ms = ms;
  one.peak = measured.peak;
  one.requests = measured.requests_ms.size();
  one.timed = counted.size();
}

void Search::tell(const Measured& measured) {
  require(asked_.has_value(), "what is told was asked for");
  const Ask ask = *std::exchange(asked_, std::nullopt);
  spent_ += ask.requests - ask.warm_up;
  requests_ += ask.requests;
  ++starts_;
  Tried& one = of(ask.point);
  one.requests += ask.requests;
  if (measured.peak) one.peak = std::max(one.peak.value_or(Bytes{}), *measured.peak);
  const auto ms = item_ms(measured.requests_ms, order_.at_once, ask.warm_up);
  const bool is_over = order_.memory && one.peak && *one.peak > *order_.memory;
  if (measured.end != Measured::End::passed || is_over || !ms) {
    // One that failed once is not to be relied on.
    one.end = is_over ? Measured::End::memory : measured.end;
    if (one.end == Measured::End::passed) one.end = Measured::End::failed;
    one.why = measured.why.empty() && is_over ? "it took " + to_string(*one.peak) : measured.why;
    one.ms.reset();
    return;
  }
  const std::uint64_t timed = counted_of(measured.requests_ms, ask.warm_up).size();
  const double all = static_cast<double>(one.timed + timed);
  one.ms =
      (one.ms.value_or(0) * static_cast<double>(one.timed) + *ms * static_cast<double>(timed)) /
      all;
  one.timed += timed;
}

double Search::variance_of(const Tried& tried) const {
  const double timed = static_cast<double>(std::max<std::uint64_t>(tried.timed, 1));
  return start_noise * start_noise + noise_ * noise_ / timed;
}

// What each further worker takes: as two counts of them say that were measured with the same other
// settings, else all that a service takes, divided by its workers.
double Search::bytes_of_worker() const {
  double each = std::numeric_limits<double>::infinity();
  for (const Tried& more : tried_) {
    if (!more.peak || !more.ms) continue;
    const double workers = workers_of(more.point);
    each = std::min(each, static_cast<double>(more.peak->value) / workers);
    for (const Tried& less : tried_) {
      if (!less.peak || !less.ms || workers_of(less.point) >= workers) continue;
      if (!differ_in_workers(space_, space_.points[more.point], space_.points[less.point]))
        continue;
      const double grown =
          static_cast<double>(more.peak->value) - static_cast<double>(less.peak->value);
      each = std::min(each, std::max(grown, 0.0) / (workers - workers_of(less.point)));
    }
  }
  return each;
}

double Search::workers_of(std::size_t point) const {
  return std::max(space_.of_role(space_.points[point], Role::workers).value_or(1), 1.0);
}

// Nothing is tried that would take more memory than there is: more of everything than what took too
// much already, or more workers than there is room for.
bool Search::fits(std::size_t point) const {
  const double each = order_.memory ? bytes_of_worker() : 0;
  for (const Tried& one : tried_) {
    const Point& other = space_.points[one.point];
    if (one.end == Measured::End::memory && takes_no_less(space_, space_.points[point], other))
      return false;
    const double more = workers_of(point) - workers_of(one.point);
    if (!order_.memory || !one.peak || !one.ms || more <= 0) continue;
    const double needed = static_cast<double>(one.peak->value) + each * more;
    if (needed > static_cast<double>(order_.memory->value)) return false;
  }
  return true;
}

bool Search::may_try(std::size_t point) const {
  return find(point) == nullptr && fits(point);
}

std::size_t Search::too_large() const {
  std::size_t number = 0;
  for (std::size_t point = 0; point < space_.points.size(); ++point) {
    if (find(point) == nullptr && !fits(point)) ++number;
  }
  return number;
}

std::vector<std::size_t> Search::ranked() const {
  std::vector<const Tried*> passed;
  for (const Tried& one : tried_) {
    if (one.ms) passed.push_back(&one);
  }
  std::stable_sort(passed.begin(), passed.end(),
                   [](const Tried* a, const Tried* b) { return *a->ms < *b->ms; });
  std::vector<std::size_t> points;
  points.reserve(passed.size());
  for (const Tried* one : passed) points.push_back(one->point);
  return points;
}

std::optional<Ask> Search::next() {
  require(!asked_, "what was asked for is told before more is");
  if (explores_) asked_ = explore();
  if (!asked_) {
    if (explores_) {
      explores_ = false;
      round_ = ranked();
      // Two of few, four of many.
      round_.resize(std::min<std::size_t>(round_.size(), starts_ > many_starts ? 4 : 2));
      round_timed_ = final_timed();
    }
    asked_ = halve();
  }
  return asked_;
}

std::optional<Ask> Search::explore() {
  if (starts_ >= explored_most_) return std::nullopt;
  const auto point = next_point();
  if (!point) return std::nullopt;
  const Ask ask = ask_for(*point, first_timed());
  // What the two best take once more is kept for them.
  if (spent_ + first_timed() + 2 * final_timed() > budget_ && starts_ > 0) return std::nullopt;
  return ask;
}

// The one that is expected to gain most for what asking it costs; nothing: none is worth a start.
std::optional<std::size_t> Search::next_point() const {
  std::vector<Observation> seen;
  double worst = -std::numeric_limits<double>::infinity();
  double best = std::numeric_limits<double>::infinity();
  for (const Tried& one : tried_) {
    if (!one.ms) continue;
    const double log_ms = std::log(*one.ms);
    best = std::min(best, log_ms);
    worst = std::max(worst, log_ms);
    seen.push_back({one.point, log_ms, variance_of(one)});
  }
  const bool knows = !seen.empty();
  // What failed keeps the search away from what is like it, but does not forbid it.
  for (const Tried& one : tried_) {
    if (knows && !one.ms) seen.push_back({one.point, worst + 0.3, 0.1});
  }
  Surrogate surrogate = surrogate_;
  if (knows) surrogate.learn(seen);
  std::optional<std::size_t> chosen;
  double highest = 0, gain = 0;
  for (std::size_t point = 0; point < space_.points.size(); ++point) {
    if (!may_try(point)) continue;
    const double expected = knows ? surrogate.improvement(point, best)
                                  : -trend_of(space_, space_.points[point], order_.cores);
    const auto requests = static_cast<double>(ask_for(point, first_timed()).requests);
    const double worth = knows ? expected / std::pow(requests, by_cost) : expected;
    if (chosen && worth <= highest) continue;
    chosen = point;
    highest = worth;
    gain = expected;
  }
  if (knows && gain < worth_a_start) return std::nullopt;
  return chosen;
}

std::optional<Ask> Search::halve() {
  for (;;) {
    if (at_ < round_.size()) {
      const std::size_t point = round_[at_];
      ++at_;
      if (point == present_) continue;  // It was asked in full.
      const Ask ask = ask_for(point, round_timed_);
      if (spent_ + round_timed_ <= budget_) return ask;
    }
    if (round_.size() <= 2) return std::nullopt;
    const std::vector<std::size_t> order = ranked();
    std::vector<std::size_t> better;
    for (const std::size_t point : order) {
      if (std::find(round_.begin(), round_.end(), point) != round_.end()) better.push_back(point);
    }
    better.resize(std::min(better.size(), round_.size() / 2));
    round_ = better;
    at_ = 0;
    round_timed_ = std::min(2 * round_timed_, order_.repeat);
  }
}

std::vector<Tried> Search::tried() const {
  std::vector<Tried> all;
  for (const std::size_t point : ranked()) all.push_back(*find(point));
  for (const Tried& one : tried_) {
    if (!one.ms) all.push_back(one);
  }
  return all;
}

// Where more requests went they count for more: one that only came out well once does not win over
// one that did so twice.
std::optional<std::size_t> Search::best() const {
  const std::vector<std::size_t> order = ranked();
  for (const std::size_t point : order) {
    const bool is_final =
        point == present_ || std::find(round_.begin(), round_.end(), point) != round_.end();
    if (round_.empty() || is_final) return point;
  }
  return order.empty() ? std::nullopt : std::optional(order.front());
}

}  // namespace headroom::tune
