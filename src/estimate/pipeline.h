// SPDX-License-Identifier: Apache-2.0
// A model whose layers are shared out over stages, one process each: which part a stage holds, and
// in which order it passes micro-batches forward and backward. Pure.
//
// The order is "one forward, one backward" (PipeDream-Flush: Narayanan et al., "Memory-Efficient
// Pipeline-Parallel DNN Training", 2021; Megatron-LM's schedule without interleaving): a stage
// starts as many micro-batches as there are stages behind it, and from then on takes one back for
// each that it starts. So at most stages − stage micro-batches are held between their two passes,
// however many a step has.
#pragma once

#include <cstdint>
#include <vector>

namespace headroom::estimate {

// Layers [first_layer, last_layer). The first stage has the embedding too, the last one the final
// norm and the head; a head that is tied to the embedding is a copy of it there.
struct StagePart {
  std::uint32_t stage = 0;
  std::uint32_t stages = 1;
  std::uint64_t first_layer = 0;
  std::uint64_t last_layer = 0;

  bool is_first() const { return stage == 0; }
  bool is_last() const { return stage + 1 == stages; }
  std::uint64_t layers() const { return last_layer - first_layer; }
  bool has_layer(std::uint64_t layer) const { return layer >= first_layer && layer < last_layer; }
  bool operator==(const StagePart&) const = default;
};

// All of a model that is not split.
constexpr StagePart whole_model(std::uint64_t layers) {
  return {.stage = 0, .stages = 1, .first_layer = 0, .last_layer = layers};
}

enum class StagePass : std::uint8_t { forward, backward };

struct StageAction {
  StagePass pass = StagePass::forward;
  std::uint64_t micro_batch = 0;  // Counted from 0 within the step.
  bool operator==(const StageAction&) const = default;
};

// What a stage does in a step of so many micro-batches, in order. Requires: stage < stages.
std::vector<StageAction> one_forward_one_backward(std::uint32_t stage, std::uint32_t stages,
                                                  std::uint64_t micro_batches);

// How many micro-batches a stage holds between their two passes, at most.
std::uint64_t most_in_flight(std::uint32_t stage, std::uint32_t stages,
                             std::uint64_t micro_batches);

// With so many micro-batches in a step, everything has happened that happens with more of them.
std::uint64_t telling_micro_batches(std::uint32_t stage, std::uint32_t stages,
                                    std::uint64_t micro_batches);

}  // namespace headroom::estimate
