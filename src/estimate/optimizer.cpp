// SPDX-License-Identifier: Apache-2.0
#include "estimate/optimizer.h"

#include <algorithm>

namespace headroom::estimate {
namespace {

// bitsandbytes: parameters below this many elements keep their states in fp32; larger ones in
// bytes, with a scale for each block.
constexpr std::uint64_t quantised_from = 4096;
constexpr std::uint64_t quantised_block = 256;
constexpr std::uint64_t code_book = 256;

}  // namespace

void Optimizer::prepare(Tape& tape, const std::vector<Tensor>& parameters) {
  if (settings_.master == Master::none || settings_.offload) return;
  for (const Tensor& parameter : parameters) {
    states_.push_back(
        tape.empty("optimizer.master", {parameter.shape, Element::fp32}, Component::optimizer));
  }
}

Meta Optimizer::state_meta(const Tensor& parameter) const {
  const bool wide = settings_.master == Master::fp32;
  return {parameter.shape, wide ? Element::fp32 : parameter.element};
}

void Optimizer::make_8bit_states(Tape& tape, const Tensor& parameter) {
  const std::uint64_t elements = parameter.elements();
  for (const Name name : {Name("optimizer.state1"), Name("optimizer.state2")}) {
    if (elements < quantised_from) {
      states_.push_back(tape.empty(name, {parameter.shape, Element::fp32}, Component::optimizer));
      continue;
    }
    const std::uint64_t blocks = (elements + quantised_block - 1) / quantised_block;
    states_.push_back(tape.empty(name, {parameter.shape, Element::uint8}, Component::optimizer));
    states_.push_back(
        tape.empty(name + ".absmax", {{blocks}, Element::fp32}, Component::optimizer));
  }
}

// A row and a column of second moments for a matrix, all of them for a vector.
void Optimizer::make_factored_states(Tape& tape, const Tensor& parameter) {
  const auto state = [&](Name name, const Shape& shape) {
    states_.push_back(tape.empty(name, {shape, Element::fp32}, Component::optimizer));
  };
  if (parameter.shape.size() < 2) return state("optimizer.exp_avg_sq", parameter.shape);
  Shape rows;
  for (std::size_t i = 0; i + 1 < parameter.shape.size(); ++i) rows.push_back(parameter.shape[i]);
  Shape columns;
  for (std::size_t i = 0; i < parameter.shape.size(); ++i)
    if (i + 2 != parameter.shape.size()) columns.push_back(parameter.shape[i]);
  state("optimizer.exp_avg_sq_row", rows);
  state("optimizer.exp_avg_sq_col", columns);
}

void Optimizer::make_states(Tape& tape, const std::vector<Tensor>& parameters) {
  if (settings_.kind == OptimizerKind::adamw8bit) {  // Two code books for all parameters.
    for (const Name name : {Name("optimizer.qmap1"), Name("optimizer.qmap2")})
      states_.push_back(tape.empty(name, {{code_book}, Element::fp32}, Component::optimizer));
  }
  for (const Tensor& parameter : parameters) {
    switch (settings_.kind) {
      case OptimizerKind::adamw: {
        const Meta meta = state_meta(parameter);
        states_.push_back(tape.empty("optimizer.exp_avg", meta, Component::optimizer));
        states_.push_back(tape.empty("optimizer.exp_avg_sq", meta, Component::optimizer));
        break;
      }
      case OptimizerKind::adamw8bit:
        make_8bit_states(tape, parameter);
        break;
      case OptimizerKind::adafactor:
        make_factored_states(tape, parameter);
        break;
      case OptimizerKind::sgd:
        if (settings_.momentum > 0)  // Not transformers' default.
          states_.push_back(
              tape.empty("optimizer.momentum", state_meta(parameter), Component::optimizer));
        break;
    }
  }
}

void Optimizer::step_adamw(Tape& tape, const std::vector<Tensor>& parameters) const {
  std::vector<Tensor> roots;
  for (const Tensor& parameter : parameters) {
    const Meta meta = state_meta(parameter);
    if (!settings_.foreach) roots.clear();
    roots.push_back(tape.empty("optimizer.sqrt", meta, Component::workspace));
    if (!settings_.foreach)
      roots.push_back(tape.empty("optimizer.denominator", meta, Component::workspace));
  }
}

// One parameter after the other: its gradient and itself in fp32, the squares, the update.
void Optimizer::step_adafactor(Tape& tape, const std::vector<Tensor>& parameters) const {
  for (const Tensor& parameter : parameters) {
    const Meta wide{parameter.shape, Element::fp32};
    Tensor gradient, value;
    if (parameter.element != Element::fp32) {
      gradient = tape.empty("optimizer.gradient_fp32", wide, Component::workspace);
      value = tape.empty("optimizer.parameter_fp32", wide, Component::workspace);
    }
    const Tensor squares = tape.empty("optimizer.squares", wide, Component::workspace);
    const Tensor update = tape.empty("optimizer.update", wide, Component::workspace);
  }
}

void Optimizer::step(Tape& tape, std::vector<Tensor>& parameters) {
  if (!settings_.offload) {
    if (!stepped_) make_states(tape, parameters);
    std::vector<Tensor> gradients;  // For the masters.
    if (settings_.master == Master::fp32) {
      for (const Tensor& parameter : parameters)
        gradients.push_back(tape.empty("optimizer.master_gradient",
                                       {parameter.shape, Element::fp32}, Component::workspace));
    }
    if (settings_.kind == OptimizerKind::adamw && !settings_.fused) step_adamw(tape, parameters);
    if (settings_.kind == OptimizerKind::adafactor) step_adafactor(tape, parameters);
  }
  stepped_ = true;
}

void Optimizer::zero_grad(std::vector<Tensor>& parameters) {
  for (Tensor& parameter : parameters) parameter.node->grad.reset();
}

}  // namespace headroom::estimate
