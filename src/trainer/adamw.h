// SPDX-License-Identifier: Apache-2.0
// AdamW (Loshchilov and Hutter 2019): Adam with decoupled weight decay and bias correction, as in
// torch.optim.AdamW, in place and a block of elements at a time.
//
// Memory. States: two of each parameter's size and dtype (tag optimizer), allocated at the first
// step. Temporaries (workspace) of a step: in fp32 none; otherwise two fp32 blocks of at most
// block_elements (ops/row_blocks.h), one pair per parameter, freed before the next parameter's.
#pragma once

#include "trainer/optimizer.h"

namespace headroom::trainer {

class AdamW final : public Optimizer {
 public:
  AdamW(std::deque<Parameter>& parameters, const AdamWSettings& settings,
        const StateOptions& states = {})
      : Optimizer(parameters, states), settings_(settings) {}

  double learning_rate(double factor) const override { return settings_.learning_rate * factor; }

 private:
  std::vector<StateShape> shape_states(at::IntArrayRef sizes, at::ScalarType type) const override;
  void update(const Part& part, const Factors& factors) override;

  AdamWSettings settings_;
};

}  // namespace headroom::trainer
