// SPDX-License-Identifier: Apache-2.0
// What is known of a graph's values, and one node with what is known of its inputs: what the rules
// of the operators (onnx_rules.h) are written against. Sizes are all bound by then, so that also
// shapes which a graph computes (Shape, Gather, Concat, Reshape) come out as numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimate/files/onnx_model.h"

namespace headroom::estimate {

// Of any number of dimensions, outermost first.
using OnnxShape = std::vector<std::uint64_t>;

struct OnnxFact {
  std::uint64_t type = 0;          // 0: not known.
  std::optional<OnnxShape> shape;  // Nothing: not known.
  // The numbers themselves, where they follow from shapes and constants and are few.
  std::optional<std::vector<double>> values;
};

// Nothing a rule returns has a size above this; what would is not known.
inline constexpr std::uint64_t onnx_size_max = std::uint64_t{1} << 40U;
inline constexpr std::size_t onnx_values_max = 1024;

class OnnxCall {
 public:
  OnnxCall(const OnnxNode& node, std::vector<const OnnxFact*> inputs)
      : node_(node), inputs_(std::move(inputs)) {}

  const OnnxNode& node() const { return node_; }
  std::size_t inputs() const { return inputs_.size(); }
  std::size_t outputs() const { return node_.outputs.size(); }

  // Null where the input is left out or nothing is known of it.
  const OnnxFact* input(std::size_t i) const { return i < inputs_.size() ? inputs_[i] : nullptr; }
  const OnnxShape* shape(std::size_t i) const;
  const std::vector<double>* values(std::size_t i) const;
  std::uint64_t type(std::size_t i) const;

  bool has(const char* attribute) const { return node_.attributes.contains(attribute); }
  std::int64_t whole(const char* attribute, std::int64_t otherwise) const;
  std::string text(const char* attribute) const;
  std::vector<std::int64_t> wholes(const char* attribute) const;
  // Older operator sets have it as an attribute, newer ones as an input. Nothing: in neither.
  // `known` becomes false where the input is there and its numbers are not known.
  std::optional<std::vector<std::int64_t>> wholes_of(const char* attribute, std::size_t input,
                                                     bool& known) const;

 private:
  const OnnxNode& node_;
  std::vector<const OnnxFact*> inputs_;
};

// A number as a whole one, within ±2^62.
std::int64_t to_whole(double number);
// "-1" is the last of `rank`. Nothing if there is no such dimension.
std::optional<std::size_t> to_axis(std::int64_t axis, std::size_t rank);
// By NumPy's rules. Nothing if the shapes do not go together.
std::optional<OnnxShape> broadcast(const OnnxShape& a, const OnnxShape& b);

}  // namespace headroom::estimate
