// SPDX-License-Identifier: Apache-2.0
#include "estimate/recorder.h"

#include <numeric>

namespace headroom::estimate {
namespace {

std::uint64_t saturating_mul(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

}  // namespace

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::load:
      return "load";
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::optimizer:
      return "optimizer";
    case Phase::generate:
      return "generate";
  }
  return "load";
}

std::uint64_t size_of(Element element) {
  switch (element) {
    case Element::fp32:
    case Element::int32:
      return 4;
    case Element::bf16:
    case Element::fp16:
      return 2;
    case Element::int64:
      return 8;
    case Element::uint8:
      return 1;
  }
  return 1;
}

std::string_view to_string(Element element) {
  switch (element) {
    case Element::fp32:
      return "fp32";
    case Element::bf16:
      return "bf16";
    case Element::fp16:
      return "fp16";
    case Element::int64:
      return "int64";
    case Element::int32:
      return "int32";
    case Element::uint8:
      return "uint8";
  }
  return "uint8";
}

Element element_of(DType dtype) {
  switch (dtype) {
    case DType::fp32:
      return Element::fp32;
    case DType::bf16:
      return Element::bf16;
    case DType::fp16:
      return Element::fp16;
  }
  return Element::fp32;
}

std::uint64_t Meta::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, saturating_mul);
}

std::uint64_t Meta::bytes() const {
  return saturating_mul(elements(), size_of(element));
}

std::string Recording::name_of(std::uint32_t tensor) const {
  std::string text = tensors[tensor].name.text();
  for (std::uint32_t scope = tensors[tensor].scope; scope != 0; scope = scopes[scope].parent) {
    const std::string index =
        scopes[scope].index == no_index ? "" : "." + std::to_string(scopes[scope].index);
    text = scopes[scope].name.text() + index + "." + text;
  }
  return text;
}

TensorRecord Recording::describe(std::uint32_t tensor) const {
  return {name_of(tensor), tensors[tensor].meta, tensors[tensor].component};
}

std::uint32_t Recorder::allocate(Name name, std::uint32_t scope, const Meta& meta,
                                 Component component) {
  const auto id = static_cast<std::uint32_t>(recording_.tensors.size());
  recording_.tensors.push_back({meta, name, scope, component});
  recording_.events.push_back({Event::Kind::allocate, phase_, component, id});
  return id;
}

std::uint32_t Recorder::open_scope(std::uint32_t parent, Name name, std::uint32_t index) {
  recording_.scopes.push_back({name, parent, index});
  return static_cast<std::uint32_t>(recording_.scopes.size() - 1);
}

Name Recorder::intern(std::string text) {
  recording_.texts.push_back(std::move(text));
  return Name(recording_.texts.back().c_str(), 0);
}

void Recorder::release(std::uint32_t tensor) {
  recording_.events.push_back({Event::Kind::release, phase_, Component::other, tensor});
}

void Recorder::retag(std::uint32_t tensor, Component component) {
  recording_.events.push_back({Event::Kind::retag, phase_, component, tensor});
}

}  // namespace headroom::estimate
