// SPDX-License-Identifier: Apache-2.0
#include "estimate/files/onnx_call.h"

#include <algorithm>
#include <cmath>

namespace headroom::estimate {

const OnnxShape* OnnxCall::shape(std::size_t i) const {
  const OnnxFact* fact = input(i);
  return fact == nullptr || !fact->shape ? nullptr : &*fact->shape;
}

const std::vector<double>* OnnxCall::values(std::size_t i) const {
  const OnnxFact* fact = input(i);
  return fact == nullptr || !fact->values ? nullptr : &*fact->values;
}

std::uint64_t OnnxCall::type(std::size_t i) const {
  const OnnxFact* fact = input(i);
  return fact == nullptr ? 0 : fact->type;
}

std::int64_t OnnxCall::whole(const char* attribute, std::int64_t otherwise) const {
  const auto found = node_.attributes.find(attribute);
  if (found == node_.attributes.end() || !found->second.whole) return otherwise;
  return to_whole(static_cast<double>(*found->second.whole));
}

std::string OnnxCall::text(const char* attribute) const {
  const auto found = node_.attributes.find(attribute);
  return found == node_.attributes.end() ? std::string() : found->second.text;
}

std::vector<std::int64_t> OnnxCall::wholes(const char* attribute) const {
  const auto found = node_.attributes.find(attribute);
  if (found == node_.attributes.end()) return {};
  std::vector<std::int64_t> numbers;
  for (const std::int64_t number : found->second.wholes)
    numbers.push_back(to_whole(static_cast<double>(number)));
  return numbers;
}

std::optional<std::vector<std::int64_t>> OnnxCall::wholes_of(const char* attribute, std::size_t i,
                                                             bool& known) const {
  if (has(attribute)) return wholes(attribute);
  if (i >= node_.inputs.size() || node_.inputs[i].empty()) return std::nullopt;
  const std::vector<double>* numbers = values(i);
  if (numbers == nullptr) {
    known = false;
    return std::nullopt;
  }
  std::vector<std::int64_t> found;
  for (const double number : *numbers) found.push_back(to_whole(number));
  return found;
}

std::int64_t to_whole(double number) {
  constexpr double limit = 4611686018427387904.0;  // 2^62
  if (std::isnan(number)) return 0;
  return static_cast<std::int64_t>(std::clamp(number, -limit, limit));
}

std::optional<std::size_t> to_axis(std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (axis < -size || axis >= size) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
}

std::optional<OnnxShape> broadcast(const OnnxShape& a, const OnnxShape& b) {
  const OnnxShape& longer = a.size() >= b.size() ? a : b;
  const OnnxShape& shorter = a.size() >= b.size() ? b : a;
  OnnxShape result = longer;
  const std::size_t lead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::uint64_t& size = result[lead + i];
    if (size == shorter[i] || shorter[i] == 1) continue;
    if (size != 1) return std::nullopt;
    size = shorter[i];
  }
  return result;
}

}  // namespace headroom::estimate
