// SPDX-License-Identifier: Apache-2.0
// torch.optim.AdamW over shapes (torch/optim/adamw.py): when its states appear and what a step
// needs beside them.
#pragma once

#include <vector>

#include "estimate/tape.h"

namespace headroom::estimate {

class AdamW {
 public:
  explicit AdamW(bool foreach) : foreach_(foreach) {}

  // Two states like each parameter from the first step on. `foreach` takes the square roots of all
  // second moments at once, one more copy of the parameters; else one parameter's at a time. The
  // gradients go afterwards (zero_grad(set_to_none)).
  void step(Tape& tape, std::vector<Tensor>& parameters);

 private:
  bool foreach_;
  std::vector<Tensor> states_;
};

}  // namespace headroom::estimate
