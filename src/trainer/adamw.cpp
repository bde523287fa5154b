// SPDX-License-Identifier: Apache-2.0
#include "trainer/adamw.h"

#include "trainer/adamw_step.h"

namespace headroom::trainer {

// The running means of the gradient and of its square.
std::vector<Optimizer::StateShape> AdamW::shape_states(at::IntArrayRef sizes,
                                                       at::ScalarType type) const {
  return {{"mean", sizes.vec(), type}, {"variance", sizes.vec(), type}};
}

void AdamW::update(const Part& part, const Factors& factors) {
  take_adamw_step({part.value.view({-1}), part.grad.view({-1}), part.states[0].view({-1}),
                   part.states[1].view({-1})},
                  adamw_factors(settings_, steps(), factors));
}

}  // namespace headroom::trainer
