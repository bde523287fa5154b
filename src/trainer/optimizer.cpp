// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimizer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "trainer/adafactor.h"
#include "trainer/adamw.h"
#include "trainer/adamw8bit.h"
#include "trainer/ops/row_blocks.h"
#include "trainer/sgd.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

struct Make {
  std::deque<Parameter>& parameters;
  const StateOptions& states;

  std::unique_ptr<Optimizer> operator()(const AdamWSettings& settings) const {
    if (settings.in_bytes) return std::make_unique<AdamW8bit>(parameters, settings, states);
    return std::make_unique<AdamW>(parameters, settings, states);
  }
  std::unique_ptr<Optimizer> operator()(const SgdSettings& settings) const {
    return std::make_unique<Sgd>(parameters, settings, states);
  }
  std::unique_ptr<Optimizer> operator()(const AdafactorSettings& settings) const {
    return std::make_unique<Adafactor>(parameters, settings, states);
  }
};

std::int64_t divide_up(std::int64_t number, std::int64_t divisor) {
  return (number + divisor - 1) / divisor;
}

// The state of the numbers [first, first + count) of a parameter. Requires: first is a multiple of
// numbers_each.
at::Tensor slice_of(const Optimizer::State& state, std::int64_t first, std::int64_t count) {
  return state.value.view({-1}).narrow(0, first / state.numbers_each,
                                       divide_up(count, state.numbers_each));
}

}  // namespace

bool Optimizer::has_master(const at::Tensor& value) const {
  return options_.masters && at::elementSize(value.scalar_type()) < sizeof(float);
}

void Optimizer::allocate_states() {
  const TagScope scope(allocator::Component::optimizer);
  while (states_.size() < parameters_.size()) {
    const at::Tensor& value = parameters_[states_.size()].value;
    std::vector<State> states;
    const auto add = [&](const StateShape& shape) -> at::Tensor& {
      at::Tensor state =
          options_.host != nullptr
              ? options_.host->empty(shape.sizes, shape.type, allocator::Component::optimizer)
              : at::empty(shape.sizes, value.options().dtype(shape.type));
      return states.emplace_back(State{shape.name, std::move(state), shape.numbers_each}).value;
    };
    const bool master = has_master(value);
    if (master) add({"master", value.sizes().vec(), at::kFloat}).copy_(value);
    for (const StateShape& shape :
         shape_states(value.sizes(), master ? at::kFloat : value.scalar_type()))
      add(shape).zero_();
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
    const bool offloaded = options_.host != nullptr && !states.empty();
    if (offloaded || has_master(parameter.value)) {
      update_staged(parameter, states, factors);
    } else {
      Part whole{parameter.value, parameter.grad, {}};
      for (const State& state : states) whole.states.push_back(state.value);
      update(whole, factors);
    }
    parameter.grad.reset();
  }
}

void Optimizer::update_staged(const Parameter& parameter, const std::vector<State>& states,
                              const Factors& factors) {
  const bool sliced = is_by_number();
  const bool offloaded = options_.host != nullptr;
  const bool master = has_master(parameter.value);
  const std::int64_t numbers = parameter.value.numel();
  const std::int64_t most = sliced ? std::min(numbers, ops::block_elements) : numbers;
  const at::TensorOptions options = parameter.value.options();
  std::vector<State> staged;  // Of offloaded states, as many numbers as are updated at once.
  for (const State& state : states) {
    if (!offloaded) break;
    const std::int64_t each = state.numbers_each;
    const at::Tensor block =
        sliced ? at::empty({divide_up(most, each)}, options.dtype(state.value.scalar_type()))
               : at::empty(state.value.sizes(), options.dtype(state.value.scalar_type()));
    staged.push_back({state.name, block, each});
  }
  at::Tensor wide_grad;
  if (master && sliced) wide_grad = at::empty({most}, options.dtype(at::kFloat));

  ops::for_row_blocks(numbers, most, [&](std::int64_t first, std::int64_t count) {
    const auto slice = [&](const at::Tensor& whole) {
      return sliced ? whole.view({-1}).narrow(0, first, count) : whole;
    };
    const auto part_of = [&](const State& state, std::int64_t from) {
      return sliced ? slice_of(state, from, count) : state.value;
    };
    Part part{slice(parameter.value), slice(parameter.grad), {}};
    for (std::size_t i = 0; i < states.size(); ++i) {
      part.states.push_back(offloaded ? part_of(staged[i], 0) : part_of(states[i], first));
      if (offloaded) part.states[i].copy_(part_of(states[i], first));
    }
    const std::vector<at::Tensor> used = part.states;
    if (master) {
      part.value = used.front();
      part.states.erase(part.states.begin());
      if (sliced) part.grad = wide_grad.narrow(0, 0, count).copy_(part.grad);
    }
    update(part, factors);
    if (master) slice(parameter.value).copy_(part.value);
    for (std::size_t i = 0; offloaded && i < states.size(); ++i)
      part_of(states[i], first).copy_(used[i]);
  });
}

std::unique_ptr<Optimizer> make_optimizer(std::deque<Parameter>& parameters,
                                          const OptimizerSettings& settings,
                                          const StateOptions& states) {
  return std::visit(Make{parameters, states}, settings);
}

}  // namespace headroom::trainer
