// SPDX-License-Identifier: Apache-2.0
#include "estimate/adamw.h"

namespace headroom::estimate {

void AdamW::step(Tape& tape, std::vector<Tensor>& parameters) {
  if (states_.empty()) {
    for (const Tensor& parameter : parameters) {
      states_.push_back(tape.empty("optimizer.exp_avg", parameter, Component::optimizer));
      states_.push_back(tape.empty("optimizer.exp_avg_sq", parameter, Component::optimizer));
    }
  }
  std::vector<Tensor> roots;
  for (const Tensor& parameter : parameters) {
    if (!foreach_) roots.clear();
    roots.push_back(tape.empty("optimizer.sqrt", parameter, Component::workspace));
    if (!foreach_)
      roots.push_back(tape.empty("optimizer.denominator", parameter, Component::workspace));
  }
  for (Tensor& parameter : parameters) parameter.node->grad.reset();
}

}  // namespace headroom::estimate
