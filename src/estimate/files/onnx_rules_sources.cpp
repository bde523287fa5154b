// SPDX-License-Identifier: Apache-2.0
// Operators that make values from constants or from shapes: what exporters compute sizes with.
#include <algorithm>
#include <cmath>
#include <utility>

#include "estimate/files/onnx_rules.h"

namespace headroom::estimate {
namespace {

constexpr std::uint64_t type_float = 1;
constexpr std::uint64_t type_int64 = 7;

OnnxFact numbers(std::uint64_t type, std::vector<double> values) {
  return {type, OnnxShape{values.size()}, std::move(values)};
}

std::vector<OnnxFact> shape_of(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  if (x == nullptr) return {};
  const auto rank = static_cast<std::int64_t>(x->size());
  const auto clip = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t start = clip(call.whole("start", 0));
  const std::int64_t end = clip(call.whole("end", rank));
  std::vector<double> sizes;
  for (std::int64_t i = start; i < end; ++i)
    sizes.push_back(static_cast<double>((*x)[static_cast<std::size_t>(i)]));
  return {numbers(type_int64, std::move(sizes))};
}

std::vector<OnnxFact> size_of_value(const OnnxCall& call) {
  const auto elements =
      call.shape(0) == nullptr ? std::nullopt : onnx_bytes(*call.shape(0), 2 /* a byte each */);
  if (!elements) return {};
  return {{type_int64, OnnxShape{}, std::vector<double>{static_cast<double>(*elements)}}};
}

OnnxFact fact_of(const OnnxTensor& tensor) {
  OnnxFact fact{tensor.type, tensor.shape, {}};
  if (!tensor.values.empty()) fact.values = tensor.values;
  return fact;
}

std::vector<OnnxFact> constant(const OnnxCall& call) {
  for (const auto& [name, value] : call.node().attributes) {
    if (name == "value" && value.tensor) return {fact_of(*value.tensor)};
    if (name == "value_int" && value.whole)
      return {{type_int64, OnnxShape{}, std::vector<double>{static_cast<double>(*value.whole)}}};
    if (name == "value_float" && value.real)
      return {{type_float, OnnxShape{}, std::vector<double>{*value.real}}};
    if (name == "value_ints")
      return {numbers(type_int64, {value.wholes.begin(), value.wholes.end()})};
    if (name == "value_floats") return {numbers(type_float, value.reals)};
  }
  return {};
}

std::vector<OnnxFact> constant_of_shape(const OnnxCall& call) {
  const std::vector<double>* sizes = call.values(0);
  // A shape of no dimensions is no numbers at all.
  const bool scalar = call.shape(0) != nullptr && *call.shape(0) == OnnxShape{0};
  if (sizes == nullptr && !scalar) return {};
  OnnxShape shape;
  for (std::size_t i = 0; !scalar && i < sizes->size(); ++i) {
    if (!((*sizes)[i] >= 0)) return {};
    shape.push_back(static_cast<std::uint64_t>(to_whole((*sizes)[i])));
  }
  OnnxFact fact{type_float, shape, {}};
  double filled = 0;
  const auto value = call.node().attributes.find("value");
  if (value != call.node().attributes.end() && value->second.tensor) {
    fact.type = value->second.tensor->type;
    if (value->second.tensor->values.size() != 1) return {fact};
    filled = value->second.tensor->values.front();
  }
  const auto elements = onnx_bytes(shape, 2);
  if (elements && *elements <= onnx_values_max)
    fact.values = std::vector<double>(*elements, filled);
  return {fact};
}

std::vector<OnnxFact> range(const OnnxCall& call) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (call.values(i) == nullptr || call.values(i)->size() != 1) return {};
  }
  const double start = call.values(0)->front();
  const double step = call.values(2)->front();
  const double count = std::ceil((call.values(1)->front() - start) / step);
  if (step == 0 || !(count <= static_cast<double>(onnx_size_max))) return {};
  const auto size = static_cast<std::uint64_t>(std::max(count, 0.0));
  OnnxFact fact{call.type(0), OnnxShape{size}, {}};
  if (size > onnx_values_max) return {fact};
  fact.values.emplace();
  for (std::uint64_t i = 0; i < size; ++i)
    fact.values->push_back(start + static_cast<double>(i) * step);
  return {fact};
}

std::vector<OnnxFact> like(const OnnxCall& call) {
  if (call.shape(0) == nullptr) return {};
  const auto given = static_cast<std::uint64_t>(call.whole("dtype", 0));
  return {{given == 0 ? call.type(0) : given, *call.shape(0), {}}};
}

std::vector<OnnxFact> random(const OnnxCall& call) {
  OnnxShape shape;
  for (const std::int64_t size : call.wholes("shape")) {
    if (size < 0) return {};
    shape.push_back(static_cast<std::uint64_t>(size));
  }
  return {{static_cast<std::uint64_t>(call.whole("dtype", 1)), shape, {}}};
}

}  // namespace

const std::vector<NamedOnnxRule>& onnx_source_rules() {
  static const std::vector<NamedOnnxRule> rules = {
      {"Shape", shape_of},        {"Size", size_of_value},
      {"Constant", constant},     {"ConstantOfShape", constant_of_shape},
      {"Range", range},           {"EyeLike", like},
      {"RandomNormalLike", like}, {"RandomUniformLike", like},
      {"RandomNormal", random},   {"RandomUniform", random},
  };
  return rules;
}

}  // namespace headroom::estimate
