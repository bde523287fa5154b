// SPDX-License-Identifier: Apache-2.0
// ONNX files written field by field after onnx.proto, for tests. A message is its bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headroom::estimate::testing {

using Message = std::string;

inline Message varint(std::uint64_t value) {
  Message bytes;
  for (; value > 0x7fU; value >>= 7U) bytes += static_cast<char>((value & 0x7fU) | 0x80U);
  return bytes + static_cast<char>(value);
}

inline Message number(std::uint32_t field, std::uint64_t value) {
  return varint(field << 3U) + varint(value);
}

inline Message part(std::uint32_t field, std::string_view bytes) {
  return varint(field << 3U | 2U) + varint(bytes.size()) + Message(bytes);
}

// A size, or the name of one that is open ("": it has none).
using OnnxSize = std::variant<int, const char*>;

inline Message value_info(std::string_view name, const std::vector<OnnxSize>& shape,
                          std::uint32_t type = 1) {
  Message dimensions;
  for (const OnnxSize& size : shape) {
    const auto* whole = std::get_if<int>(&size);
    const std::string word = whole == nullptr ? std::get<const char*>(size) : "";
    dimensions += part(1, whole != nullptr ? number(1, static_cast<std::uint64_t>(*whole))
                          : word.empty()   ? ""
                                           : part(2, word));
  }
  return part(1, name) + part(2, part(1, number(1, type) + part(2, dimensions)));
}

// Filled with zeros.
inline Message weight(std::string_view name, const std::vector<std::uint64_t>& shape,
                      std::uint32_t type = 1, std::uint64_t element_bytes = 4) {
  Message sizes;
  std::uint64_t bytes = element_bytes;
  for (const std::uint64_t size : shape) {
    sizes += varint(size);
    bytes *= size;
  }
  return part(1, sizes) + number(2, type) + part(8, name) + part(9, Message(bytes, '\0'));
}

inline Message whole_numbers(std::string_view name, const std::vector<std::int64_t>& values) {
  Message data;
  for (const std::int64_t value : values) data += varint(static_cast<std::uint64_t>(value));
  return part(1, varint(values.size())) + number(2, 7) + part(7, data) + part(8, name);
}

inline Message wholes_attribute(std::string_view name, const std::vector<std::int64_t>& values) {
  Message packed;
  for (const std::int64_t value : values) packed += varint(static_cast<std::uint64_t>(value));
  return part(1, name) + part(8, packed);
}

inline Message whole_attribute(std::string_view name, std::int64_t value) {
  return part(1, name) + number(3, static_cast<std::uint64_t>(value));
}

inline Message node(std::string_view op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs,
                    const std::vector<Message>& attributes = {}) {
  Message bytes;
  for (const std::string& input : inputs) bytes += part(1, input);
  for (const std::string& output : outputs) bytes += part(2, output);
  bytes += part(3, std::string("node_") + std::string(op)) + part(4, op);
  for (const Message& attribute : attributes) bytes += part(5, attribute);
  return bytes;
}

struct OnnxParts {
  std::vector<Message> nodes;
  std::vector<Message> weights;
  std::vector<Message> inputs;
  std::vector<Message> outputs;
  std::vector<Message> stated;
};

inline Message onnx_file(const OnnxParts& parts) {
  Message graph;
  for (const Message& one : parts.nodes) graph += part(1, one);
  for (const Message& one : parts.weights) graph += part(5, one);
  for (const Message& one : parts.inputs) graph += part(11, one);
  for (const Message& one : parts.outputs) graph += part(12, one);
  for (const Message& one : parts.stated) graph += part(13, one);
  return number(1, 8) + part(2, "test") + part(7, graph) + part(8, number(2, 17));
}

// A small face detector's beginning: convolution, batch norm, activation, pool, and a head that
// reshapes by sizes it computes itself.
inline OnnxParts tiny_detector() {
  OnnxParts parts;
  parts.inputs = {value_info("image", {"batch", 3, 64, 64})};
  parts.outputs = {value_info("scores", {"batch", "n"})};
  parts.weights = {weight("conv.weight", {8, 3, 3, 3}),
                   weight("conv.bias", {8}),
                   weight("bn.scale", {8}),
                   weight("bn.bias", {8}),
                   weight("bn.mean", {8}),
                   weight("bn.variance", {8}),
                   weight("head.weight", {8192, 10}),
                   whole_numbers("zero", {0}),
                   whole_numbers("rest", {-1})};
  parts.nodes = {
      node("Conv", {"image", "conv.weight", "conv.bias"}, {"c"},
           {wholes_attribute("kernel_shape", {3, 3}), wholes_attribute("pads", {1, 1, 1, 1})}),
      node("BatchNormalization", {"c", "bn.scale", "bn.bias", "bn.mean", "bn.variance"}, {"b"}),
      node("Relu", {"b"}, {"r"}),
      node("MaxPool", {"r"}, {"p"},
           {wholes_attribute("kernel_shape", {2, 2}), wholes_attribute("strides", {2, 2})}),
      node("Shape", {"p"}, {"s"}),
      node("Gather", {"s", "zero"}, {"rows"}),
      node("Concat", {"rows", "rest"}, {"to"}, {whole_attribute("axis", 0)}),
      node("Reshape", {"p", "to"}, {"flat"}),
      node("MatMul", {"flat", "head.weight"}, {"scores"})};
  return parts;
}

}  // namespace headroom::estimate::testing
