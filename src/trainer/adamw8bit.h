// SPDX-License-Identifier: Apache-2.0
// AdamW whose states are bytes (quantised/moments.h): a step reads them as fp32, takes AdamW's step
// with what it reads, and writes them back. As bitsandbytes' AdamW8bit, block by block.
//
// Memory. States: of each parameter of at least least_quantised numbers two bytes per number and
// two fp32 scales per moment_block of them; of a smaller one two fp32 numbers each (tag optimizer).
// Temporaries of a step: on a processor none beside a thread's stack. With libtorch's operations
// (a GPU) blocks of at most block_elements numbers (ops/row_blocks.h).
#pragma once

#include "trainer/adamw_step.h"
#include "trainer/optimizer.h"

namespace headroom::trainer {

// bitsandbytes, optim/optimizer.py, min_8bit_size.
inline constexpr std::int64_t least_quantised = 4096;

class AdamW8bit final : public Optimizer {
 public:
  AdamW8bit(std::deque<Parameter>& parameters, const AdamWSettings& settings,
            const StateOptions& states = {})
      : Optimizer(parameters, states), settings_(settings) {}

  double learning_rate(double factor) const override { return settings_.learning_rate * factor; }

 private:
  std::vector<StateShape> shape_states(at::IntArrayRef sizes, at::ScalarType type) const override;
  void update(const Part& part, const Factors& factors) override;

  AdamWSettings settings_;
};

}  // namespace headroom::trainer
