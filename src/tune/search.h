// SPDX-License-Identifier: Apache-2.0
// The search for the fastest point as a pure state machine: it says which point to try next with
// how many requests, and is told what came of it. It starts nothing and knows no clock.
//
// Few requests go to many points, chosen by what the ones before say of them (surrogate.h); then
// more go to the best few, of which half stay after each round (successive halving: Jamieson and
// Talwalkar 2016), until one is left. Where there are enough points for that to be a search, at
// most a tenth of the measurements of an exhaustive one are made. A measurement is a request whose
// time counts: those that only warm a start up do so in either search.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "tune/grid.h"
#include "tune/measure.h"
#include "tune/surrogate.h"

namespace headroom::tune {

struct Ask {
  std::size_t point = 0;
  std::uint64_t requests = 0;  // In all, those that warm it up included.
  std::uint64_t warm_up = 0;   // So many of them, the first ones.
};

// All that was learned of a point.
struct Tried {
  std::size_t point = 0;
  Measured::End end = Measured::End::passed;
  std::optional<double> ms;    // For each item: see item_ms().
  std::uint64_t requests = 0;  // Made in all its trials.
  std::uint64_t timed = 0;     // Of those, the ones that count.
  std::optional<Bytes> peak;
  std::string why;
};

struct SearchOrder {
  std::uint64_t repeat = 20;  // The requests of a whole smoke test …
  std::uint64_t at_once = 4;  // … and how many are under way at once.
  double cores = 1;
  std::optional<Bytes> memory;  // The most that all processes together may take.
};

class Search {
 public:
  // `space` must outlive this.
  Search(const Space& space, SearchOrder order);

  // What the present configuration takes. Before the first next(); leave it out where it is no
  // point of the space. It costs nothing of the budget: it is asked in full anyway.
  void tell_present(const Measured& measured);
  // What to try; nothing: the search is over. Each is answered by tell() before the next one.
  std::optional<Ask> next();
  void tell(const Measured& measured);

  // Fastest first, then what failed.
  std::vector<Tried> tried() const;
  // The fastest that was tried, the present one included; nothing: none passed.
  std::optional<std::size_t> best() const;
  // Those that were left out because they would take too much memory.
  std::size_t too_large() const;
  std::uint64_t requests() const { return requests_; }  // Those of the warm-ups included.
  std::uint64_t measurements() const { return spent_; }
  std::uint64_t starts() const { return starts_; }
  // At most so many will be made in all.
  std::uint64_t most_requests() const;
  std::uint64_t most_measurements() const { return budget_; }
  std::uint64_t most_starts() const;
  // What the whole smoke test of every point takes, without its warm-up.
  std::uint64_t exhaustive() const { return space_.points.size() * order_.repeat; }

 private:
  Tried& of(std::size_t point);
  const Tried* find(std::size_t point) const;
  bool fits(std::size_t point) const;
  double bytes_of_worker() const;
  double workers_of(std::size_t point) const;
  bool may_try(std::size_t point) const;
  std::optional<Ask> explore();
  std::optional<Ask> halve();
  std::vector<std::size_t> ranked() const;
  double variance_of(const Tried& tried) const;
  Ask ask_for(std::size_t point, std::uint64_t timed) const;
  std::uint64_t first_timed() const;
  std::uint64_t final_timed() const;
  std::optional<std::size_t> next_point() const;

  const Space& space_;
  SearchOrder order_;
  Surrogate surrogate_;
  std::vector<Tried> tried_;
  std::optional<Ask> asked_;
  std::optional<std::size_t> present_;
  double noise_ = 0.05;  // Of one request, as a part of its time.
  std::uint64_t budget_ = 0, spent_ = 0, requests_ = 0, starts_ = 0, explored_most_ = 0;
  bool explores_ = true;
  std::vector<std::size_t> round_;  // Who is in the present round of the halving, …
  std::size_t at_ = 0;              // … who of them is next, …
  std::uint64_t round_timed_ = 0;   // … and with how many requests after the warm-up.
};

}  // namespace headroom::tune
