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
  struct Moments {
    at::Tensor mean;      // Running mean of the gradient.
    at::Tensor variance;  // Running mean of its square.
  };

  AdamW(std::deque<Parameter>& parameters, const AdamWSettings& settings)
      : Optimizer(parameters), settings_(settings) {}

  double learning_rate(double factor) const override { return settings_.learning_rate * factor; }
  std::vector<State> states_of(std::size_t parameter) const override;

 private:
  void add_state(const Parameter& parameter) override;
  void update(std::size_t index, Parameter& parameter, const Factors& factors) override;

  AdamWSettings settings_;
  std::vector<Moments> moments_;
};

}  // namespace headroom::trainer
