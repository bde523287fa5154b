// SPDX-License-Identifier: Apache-2.0
#include "estimate/recorder.h"

namespace headroom::estimate {
namespace {

// Pages that nothing is written to cost nothing; growing would copy what is there.
constexpr std::size_t tensors_expected = 32768;

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

std::string Recording::name_of(std::uint32_t tensor) const {
  std::string text = tensors[tensor].name.text();
  for (std::uint32_t scope = tensors[tensor].scope; scope != 0; scope = scopes[scope].parent) {
    std::string own = scopes[scope].name.text();
    if (scopes[scope].index != no_index) own += "." + std::to_string(scopes[scope].index);
    if (!own.empty()) text = own + "." + text;  // A family may have no module of that name.
  }
  return text;
}

TensorRecord Recording::describe(std::uint32_t tensor) const {
  return {name_of(tensor), tensors[tensor].meta, tensors[tensor].component};
}

Recorder::Recorder() {
  recording_.tensors.reserve(tensors_expected);
  recording_.events.reserve(2 * tensors_expected);
}

std::uint32_t Recorder::open_scope(std::uint32_t parent, Name name, std::uint32_t index) {
  recording_.scopes.push_back({name, parent, index});
  return static_cast<std::uint32_t>(recording_.scopes.size() - 1);
}

Name Recorder::intern(std::string text) {
  recording_.texts.push_back(std::move(text));
  return Name(recording_.texts.back().c_str(), 0);
}

}  // namespace headroom::estimate
