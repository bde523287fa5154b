// SPDX-License-Identifier: Apache-2.0
// The ranks of one job: processes that train the same model, each on its share of a step's
// micro-batches, and add their gradients up: through shared memory on one machine, through c10d
// between several (group.h).
//
// All ranks call the same functions in the same order. A rank that ends or is stopped is noticed.
// What was being shared then is of no use, and all that are left are told so in the same call; what
// they share next is theirs alone.
//
// A rank that was lost may be started again (RankPlace::admits). It comes back at the border of a
// step, where all others wait for it until it knows the state that they have.
//
// Where the model is split over them, each rank has a part of its layers and all of the
// micro-batches. What passes between neighbours goes through streams (pipeline.h).
//
// Memory: the group's staging, and no tensor.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "averager/averager.h"
#include "averager/streams.h"
#include "base/result.h"
#include "trainer/parameter.h"
#include "trainer/ranks/group.h"
#include "trainer/ranks/rank_place.h"

namespace headroom::trainer {

// What one rank tells the others.
struct Told {
  std::uint32_t rank = 0;
  std::vector<double> numbers;
};

// Whether a run ended because another rank did, which has said why.
bool is_of_another_rank(const Error& error);
Error ended_by_another_rank();

class Ranks {
 public:
  Ranks() = default;  // A process that trains alone.

  // Those of one machine; fails as join_shared_memory() (shared_group.h).
  static Result<Ranks> join(const RankPlace& place, std::uint64_t job,
                            std::shared_ptr<averager::SharedMapping> mapping = nullptr,
                            std::uint64_t message_bytes = 0);
  // Those of a group that is all there.
  Ranks(const RankPlace& place, std::unique_ptr<RankGroup> group);

  bool is_alone() const { return group_ == nullptr; }
  std::uint32_t rank() const { return rank_; }
  std::uint32_t ranks() const { return ranks_; }
  // Ranks as bits: those that are left, and those that were lost.
  std::uint32_t present() const { return present_; }
  std::uint32_t lost() const { return lost_; }
  // One of those that are left writes what the job leaves behind: the first, until it is lost.
  bool leads() const { return rank_ == leader_; }

  // At the border of a step: the ranks, as bits, that have come back there. All then call
  // catch_up(). Fails as tell() does.
  Result<std::uint32_t> admit();
  // What every rank that is there tells, with those that have just come back: `steps` of who has
  // been there, nothing of who has not. Returns the steps; fails where those that have been there
  // were lost before they could tell, and then for who has come back alone.
  Result<std::uint64_t> catch_up(std::optional<std::uint64_t> steps);

  // Of `count` pieces of work, this rank's: from the first to before the second.
  std::pair<std::size_t, std::size_t> share(std::size_t count) const;

  // What every rank tells, those of doubles exactly, in the order of ranks; nothing if a rank was
  // lost meanwhile. Fails where the job is to end then (RankPlace::goes_on).
  Result<std::optional<std::vector<Told>>> tell(const std::vector<double>& numbers);

  // Makes every gradient the sum of all ranks', in fp32 and in the order of ranks; a rank without
  // one brings zeros, and gets memory for it (tag gradients). False if a rank was lost meanwhile,
  // and gradients are of no use then. Fails as tell() does.
  Result<bool> add_up(std::deque<Parameter>& parameters);

  // The rest is for ranks over which a model is split: none of them can be done without, so a loss
  // always fails as tell() does.
  bool is_split() const { return group_ != nullptr && group_->streams() != nullptr; }
  averager::Streams& streams() { return *group_->streams(); }

  // Adds what ranks have of one gradient, [elements] of `type`: `own` becomes the sum, on those
  // that have one; undefined on the others.
  Status add_up(const at::Tensor& own, at::ScalarType type, std::uint64_t elements);

  // Everyone gets what `from` has, piece by piece: `take` is called with each one, on every rank.
  // `data` is looked at on `from` alone.
  Status spread(std::uint32_t from, const std::byte* data, std::uint64_t bytes,
                const std::function<Status(const std::byte* piece, std::uint64_t bytes)>& take);

  // What each rank says, in the order of ranks, on every rank.
  Result<std::vector<std::string>> gather(const std::string& text);

 private:
  class Staging;

  std::uint32_t turn() const;
  // Of what is staged. Both notice who was lost: whether nobody was.
  Result<bool> sum(averager::ElementType type, std::uint64_t elements);
  Status share_out(std::uint32_t from, std::uint64_t bytes);
  bool take_present(std::uint32_t present);
  // As tell(), of whoever is there.
  Result<std::vector<Told>> tell_present(const std::vector<double>& numbers, bool* together);

  std::uint32_t rank_ = 0;
  std::uint32_t ranks_ = 1;
  std::uint32_t present_ = 1;
  std::uint32_t lost_ = 0;
  std::uint32_t leader_ = 0;
  std::unique_ptr<RankGroup> group_;
};

}  // namespace headroom::trainer
