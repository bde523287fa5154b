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
  }
  return "load";
}

std::uint64_t size_of(Element element) {
  switch (element) {
    case Element::fp32:
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

std::uint32_t Recorder::allocate(std::string name, const Meta& meta, Component component) {
  const auto id = static_cast<std::uint32_t>(recording_.tensors.size());
  recording_.tensors.push_back({std::move(name), meta, component});
  recording_.events.push_back({Event::Kind::allocate, phase_, component, id});
  return id;
}

void Recorder::release(std::uint32_t tensor) {
  recording_.events.push_back({Event::Kind::release, phase_, Component::other, tensor});
}

void Recorder::retag(std::uint32_t tensor, Component component) {
  recording_.events.push_back({Event::Kind::retag, phase_, component, tensor});
}

}  // namespace headroom::estimate
