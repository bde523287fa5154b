// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimizer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "trainer/adafactor.h"
#include "trainer/adamw.h"
#include "trainer/ops/row_blocks.h"
#include "trainer/sgd.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

struct Make {
  std::deque<Parameter>& parameters;
  HostDomain* host;

  std::unique_ptr<Optimizer> operator()(const AdamWSettings& settings) const {
    return std::make_unique<AdamW>(parameters, settings, host);
  }
  std::unique_ptr<Optimizer> operator()(const SgdSettings& settings) const {
    return std::make_unique<Sgd>(parameters, settings, host);
  }
  std::unique_ptr<Optimizer> operator()(const AdafactorSettings& settings) const {
    return std::make_unique<Adafactor>(parameters, settings, host);
  }
};

}  // namespace

void Optimizer::allocate_states() {
  const TagScope scope(allocator::Component::optimizer);
  while (states_.size() < parameters_.size()) {
    const at::Tensor& value = parameters_[states_.size()].value;
    std::vector<State> states;
    for (const auto& [name, sizes, type] : shape_states(value)) {
      at::Tensor state = host_ != nullptr
                             ? host_->empty(sizes, type, allocator::Component::optimizer)
                             : at::empty(sizes, value.options().dtype(type));
      states.push_back({name, state.zero_()});
    }
    states_.push_back(std::move(states));
  }
}

void Optimizer::step(const Factors& factors) {
  allocate_states();
  ++steps_;
  const TagScope scope(allocator::Component::workspace);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Parameter& parameter = parameters_[i];
    const std::vector<State>& states = states_[i];
    if (host_ != nullptr && !states.empty()) {
      update_offloaded(parameter, states, factors);
    } else {
      Part whole{parameter.value, parameter.grad, {}};
      for (const State& state : states) whole.states.push_back(state.value);
      update(whole, factors);
    }
    parameter.grad.reset();
  }
}

void Optimizer::update_offloaded(const Parameter& parameter, const std::vector<State>& states,
                                 const Factors& factors) {
  const bool sliced = is_by_number();
  const std::int64_t numbers = parameter.value.numel();
  const std::int64_t most = sliced ? std::min(numbers, ops::block_elements) : numbers;
  std::vector<at::Tensor> staged;
  for (const auto& [name, state] : states)
    staged.push_back(at::empty(sliced ? at::IntArrayRef(most) : state.sizes(),
                               parameter.value.options().dtype(state.scalar_type())));
  ops::for_row_blocks(numbers, most, [&](std::int64_t first, std::int64_t count) {
    const auto slice = [&](const at::Tensor& whole, std::int64_t from) {
      return sliced ? whole.view({-1}).narrow(0, from, count) : whole;
    };
    Part part{slice(parameter.value, first), slice(parameter.grad, first), {}};
    for (std::size_t i = 0; i < states.size(); ++i) {
      part.states.push_back(slice(staged[i], 0));
      part.states[i].copy_(slice(states[i].value, first));
    }
    update(part, factors);
    for (std::size_t i = 0; i < states.size(); ++i)
      slice(states[i].value, first).copy_(part.states[i]);
  });
}

std::unique_ptr<Optimizer> make_optimizer(std::deque<Parameter>& parameters,
                                          const OptimizerSettings& settings, HostDomain* host) {
  return std::visit(Make{parameters, host}, settings);
}

}  // namespace headroom::trainer
