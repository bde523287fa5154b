// SPDX-License-Identifier: Apache-2.0
#include "estimate/diffusion/parameters.h"

namespace headroom::estimate::diffusion {

Parameter* Weights::add(Name name, const Shape& shape) {
  parameters_.push_back({name, tape_.scope().id, {shape, element_}, true, false, {}});
  return &parameters_.back();
}

Parameter* Weights::add_kept(Name name, const Meta& meta, bool counted) {
  parameters_.push_back({name, tape_.scope().id, meta, counted, true, {}});
  return &parameters_.back();
}

Parameter* Weights::add_buffer(Name name, const Shape& shape) {
  parameters_.push_back({name, tape_.scope().id, {shape, element_}, false, false, {}});
  return &parameters_.back();
}

std::uint64_t Weights::parameters() const {
  std::uint64_t count = 0;
  for (const Parameter& one : parameters_)
    if (one.counted) count += one.meta.elements();
  return count;
}

std::uint64_t Weights::bytes() const {
  std::uint64_t sum = 0;
  for (const Parameter& one : parameters_) sum += one.meta.bytes();
  return sum;
}

void Weights::move_in(Parameter& parameter) {
  const ScopeState before = tape_.scope();
  tape_.set_scope({parameter.scope, Component::weights});
  parameter.tensor = tape_.empty(parameter.name, parameter.meta);
  tape_.set_scope(before);
}

void Weights::move_in() {
  for (Parameter& one : parameters_)
    if (!one.tensor.defined()) move_in(one);
  on_device_ = true;
}

void Weights::move_in_buffers() {
  for (Parameter& one : parameters_)
    if (!one.counted && !one.tensor.defined()) move_in(one);
}

void Weights::move_out() {
  for (Parameter& one : parameters_) one.tensor = {};
  on_device_ = false;
}

void Weights::cast(Element element) {
  element_ = element;
  for (Parameter& one : parameters_) {
    if (one.keeps_type || one.meta.element == element) continue;
    one.meta.element = element;
    if (one.tensor.defined()) move_in(one);
  }
}

Needed::Needed(Weights& weights, std::initializer_list<Parameter*> parameters) {
  for (Parameter* one : parameters) {
    if (one == nullptr || one->tensor.defined()) continue;
    weights.move_in(*one);
    moved_.push_back(one);
  }
}

Needed::~Needed() {
  for (Parameter* one : moved_) one->tensor = {};
}

}  // namespace headroom::estimate::diffusion
