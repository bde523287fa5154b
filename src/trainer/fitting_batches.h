// SPDX-License-Identifier: Apache-2.0
// Micro-batches that shrink until they fit. Where memory runs out in one, what was computed of the
// step so far is dropped and done again with half as many samples at once: the same samples, and
// the same sums but for their rounding. It stays so for the rest of the run.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trainer/device_memory.h"
#include "trainer/metrics.h"
#include "trainer/observer.h"

namespace headroom::trainer {

class FittingBatches {
 public:
  // Indices of samples, or of rows in which several are packed.
  using Indices = std::vector<std::size_t>;

  // `unit`: what the indices are of, for a note.
  FittingBatches(DeviceMemory& memory, Observer& observer, std::uint64_t at_once,
                 std::string_view unit = "samples")
      : memory_(memory), observer_(observer), at_once_(at_once), unit_(unit) {}

  // One piece of a micro-batch, the `part`th of it, counted from 0; returns its loss. It may throw
  // what libtorch throws.
  using Work =
      std::function<Result<double>(const Indices& piece, std::size_t batch, std::size_t part)>;

  // The losses of all pieces added up. `start_over` drops what pieces have left behind. Where a
  // single sample does not fit, fails with out_of_memory, and DeviceMemory::failure() says why.
  // `step` is for the record.
  Result<double> run(
      std::span<const Indices> batches, std::uint64_t step, const Work& work,
      const std::function<void()>& start_over = [] {});

  // One piece of micro-batch `batch`, the `part`th of it.
  struct Piece {
    Indices samples;
    std::size_t batch = 0, part = 0;
  };
  std::vector<Piece> cut(std::span<const Indices> batches) const;
  // Half as many samples at once from here on, after memory ran out with these micro-batches: here,
  // which is recorded, or on another rank. False, and nothing changes, where it was one at a time.
  bool shrink(std::span<const Indices> batches, std::uint64_t step);

  // How many samples a piece has at most.
  std::uint64_t at_once() const { return at_once_; }
  void set_at_once(std::uint64_t samples) { at_once_ = samples; }
  const std::vector<OutOfMemoryEvent>& events() const { return events_; }

 private:
  Result<double> attempt(std::span<const Indices> batches, const Work& work) const;

  DeviceMemory& memory_;
  Observer& observer_;
  std::uint64_t at_once_;
  std::string_view unit_;
  std::vector<OutOfMemoryEvent> events_;
};

}  // namespace headroom::trainer
