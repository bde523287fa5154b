// SPDX-License-Identifier: Apache-2.0
// Optimizers over shapes: when their states appear and what a step needs beside them. Sources:
// torch/optim/{adamw,sgd}.py, bitsandbytes optim/optimizer.py, transformers/optimization.py
// (Adafactor).
#pragma once

#include <vector>

#include "estimate/job.h"
#include "estimate/tape.h"

namespace headroom::estimate {

class Optimizer {
 public:
  explicit Optimizer(const Job::Optimizer& settings) : settings_(settings) {}

  // Master copies, where the job has them: made before the first step.
  void prepare(Tape& tape, const std::vector<Tensor>& parameters);

  // States appear in the first step. AdamW's `foreach` takes the square roots of all second moments
  // at once, one more copy of the parameters; else one parameter's at a time. With
  // offload, states and step are the host's.
  void step(Tape& tape, std::vector<Tensor>& parameters);
  // The gradients go (zero_grad(set_to_none)), as the next step begins.
  static void zero_grad(std::vector<Tensor>& parameters);

 private:
  Meta state_meta(const Tensor& parameter) const;
  void make_states(Tape& tape, const std::vector<Tensor>& parameters);
  void make_8bit_states(Tape& tape, const Tensor& parameter);
  void make_factored_states(Tape& tape, const Tensor& parameter);
  void step_adamw(Tape& tape, const std::vector<Tensor>& parameters) const;
  void step_adafactor(Tape& tape, const std::vector<Tensor>& parameters) const;

  Job::Optimizer settings_;
  bool stepped_ = false;
  std::vector<Tensor> states_;
};

}  // namespace headroom::estimate
