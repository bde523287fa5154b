// SPDX-License-Identifier: Apache-2.0
// AdamW (Loshchilov and Hutter 2019): Adam with decoupled weight decay and bias correction, as in
// torch.optim.AdamW, in place and a block of elements at a time.
//
// Memory. States: two of each parameter's size and dtype (tag optimizer), allocated at the first
// step. Temporaries (workspace) of a step: in fp32 none; otherwise two fp32 blocks of at most
// block_elements (ops/row_blocks.h), one pair per parameter, freed before the next parameter's.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "trainer/parameter.h"

namespace headroom::trainer {

struct AdamWSettings {
  double learning_rate = 1e-3;
  double weight_decay = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

class AdamW {
 public:
  struct State {
    at::Tensor mean;      // Running mean of the gradient.
    at::Tensor variance;  // Running mean of its square.
  };

  // `parameters` outlives the optimizer.
  AdamW(std::deque<Parameter>& parameters, AdamWSettings settings)
      : parameters_(parameters), settings_(settings) {}

  // What one step multiplies: by its schedule, and by what clips the gradients.
  struct Factors {
    double rate = 1;      // Of the learning rate, weight decay included.
    double gradient = 1;  // Of every gradient.
  };

  // Moves every parameter along its gradient and drops the gradients. Requires: all have one.
  void step(const Factors& factors);
  void step() { step(Factors{}); }

  // For checkpoints. States stand in the order of the parameters; allocate_states() gives them
  // memory where the first step has not yet.
  void allocate_states();
  std::vector<State>& states() { return states_; }
  std::uint64_t steps() const { return steps_; }
  void set_steps(std::uint64_t steps) { steps_ = steps; }

 private:
  void update(Parameter& parameter, State& state, const Factors& factors) const;

  std::deque<Parameter>& parameters_;
  AdamWSettings settings_;
  std::vector<State> states_;
  std::uint64_t steps_ = 0;
};

}  // namespace headroom::trainer
