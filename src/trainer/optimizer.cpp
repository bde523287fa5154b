// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimizer.h"

#include "trainer/adafactor.h"
#include "trainer/adamw.h"
#include "trainer/sgd.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

struct Make {
  std::deque<Parameter>& parameters;

  std::unique_ptr<Optimizer> operator()(const AdamWSettings& settings) const {
    return std::make_unique<AdamW>(parameters, settings);
  }
  std::unique_ptr<Optimizer> operator()(const SgdSettings& settings) const {
    return std::make_unique<Sgd>(parameters, settings);
  }
  std::unique_ptr<Optimizer> operator()(const AdafactorSettings& settings) const {
    return std::make_unique<Adafactor>(parameters, settings);
  }
};

}  // namespace

void Optimizer::allocate_states() {
  const TagScope scope(allocator::Component::optimizer);
  for (; allocated_ < parameters_.size(); ++allocated_) add_state(parameters_[allocated_]);
}

void Optimizer::step(const Factors& factors) {
  allocate_states();
  ++steps_;
  const TagScope scope(allocator::Component::workspace);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    update(i, parameters_[i], factors);
    parameters_[i].grad.reset();
  }
}

std::unique_ptr<Optimizer> make_optimizer(std::deque<Parameter>& parameters,
                                          const OptimizerSettings& settings) {
  return std::visit(Make{parameters}, settings);
}

}  // namespace headroom::trainer
