// SPDX-License-Identifier: Apache-2.0
// The ranks of one job: processes that train the same model on one machine, each on its share of a
// step's micro-batches, and add their gradients up through shared memory (the averager).
//
// All ranks call the same functions in the same order. A rank that ends or is stopped is noticed
// (averager/peer_watch.h). What was being shared then is of no use, and all that are left are told
// so in the same call; what they share next is theirs alone.
//
// Where the model is split over them, each rank has a part of its layers and all of the
// micro-batches. What passes between neighbours goes through streams in the same segment, for which
// /dev/shm has twice the largest message of each rank more (pipeline.h).
//
// Memory: at most 16 MiB for each rank in /dev/shm, and no tensor. The segment loses its name as
// soon as all ranks have met, so nothing stays behind however they end.
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

  // Waits until all ranks are there. `job` is a number that ranks of one job have in common. Fails
  // where one does not come in a minute, is of another job, or /dev/shm has no room.
  // `message_bytes`: the largest that passes between neighbours; 0: nothing does.
  static Result<Ranks> join(const RankPlace& place, std::uint64_t job,
                            std::shared_ptr<averager::SharedMapping> mapping = nullptr,
                            std::uint64_t message_bytes = 0);

  bool is_alone() const { return averager_ == nullptr; }
  std::uint32_t rank() const { return rank_; }
  std::uint32_t ranks() const { return ranks_; }
  // Ranks as bits: those that are left, and those that were lost.
  std::uint32_t present() const { return present_; }
  std::uint32_t lost() const { return lost_; }
  // The first of those that are left writes what the job leaves behind.
  bool leads() const { return turn() == 0; }

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
  bool is_split() const { return streams_.has_value(); }
  averager::Streams& streams() { return *streams_; }

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
  // Of what is staged.
  Result<bool> sum(averager::ElementType type, std::uint64_t elements);
  Status share_out(std::uint32_t from, std::uint64_t elements);
  Result<bool> do_with_all(const averager::Request& request);

  std::uint32_t rank_ = 0;
  std::uint32_t ranks_ = 1;
  std::uint32_t present_ = 1;
  std::uint32_t lost_ = 0;
  std::uint64_t staging_bytes_ = 0;
  std::byte* staging_ = nullptr;  // In the segment.
  std::unique_ptr<averager::Averager> averager_;
  std::optional<averager::Streams> streams_;
};

}  // namespace headroom::trainer
