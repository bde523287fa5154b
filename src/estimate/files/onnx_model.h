// SPDX-License-Identifier: Apache-2.0
// What an ONNX file says of its graph: nodes in the order in which they run, the shapes that it
// states, and its weights with their exact sizes. Format: onnx/onnx.proto
// (https://github.com/onnx/onnx). Data of the weights is passed over, in the file and out of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random_access.h"
#include "base/result.h"
#include "estimate/files/weight_file.h"

namespace headroom::estimate {

// TensorProto.DataType.
struct OnnxType {
  std::uint32_t id = 0;
  std::string_view name;   // "FLOAT16"
  std::uint64_t bits = 0;  // Of an element; 0 of STRING, which no device holds.
  bool is_float = false;
};
// Null for a number that is no type of an element.
const OnnxType* find_onnx_type(std::uint64_t id);
// Bytes of so many elements; nothing if they exceed 63 bits, or the type is not known.
std::optional<std::uint64_t> onnx_bytes(const std::vector<std::uint64_t>& shape,
                                        std::uint64_t type);

struct OnnxDimension {
  std::optional<std::uint64_t> size;
  std::string name;  // "batch_size", where the size is open and has one.
};

// A value of the graph and what the file states of it.
struct OnnxValue {
  std::string name;
  std::uint64_t type = 0;                           // 0: not stated, or not a tensor.
  std::optional<std::vector<OnnxDimension>> shape;  // Nothing: not stated.
};

struct OnnxTensor {
  std::string name;
  std::uint64_t type = 0;
  std::vector<std::uint64_t> shape;
  std::uint64_t bytes = 0;
  bool external = false;       // Its data is in another file.
  std::vector<double> values;  // Of small tensors of numbers: what shapes are computed from.
};

struct OnnxAttribute {
  std::optional<std::int64_t> whole;
  std::optional<double> real;
  std::string text;
  std::vector<std::int64_t> wholes;
  std::vector<double> reals;
  std::optional<OnnxTensor> tensor;
};

struct OnnxNode {
  std::string name;
  std::string op;                    // "Conv"
  std::string domain;                // "" is ONNX's own.
  std::vector<std::string> inputs;   // "" is one that is left out.
  std::vector<std::string> outputs;  // Likewise.
  std::map<std::string, OnnxAttribute> attributes;
  // Names that the graphs inside it (If, Loop) use or make. They count as uses only.
  std::vector<std::string> inner_names;
};

struct OnnxModel {
  std::string producer;  // "pytorch"
  std::uint64_t opset = 0;
  std::vector<OnnxValue> inputs;  // Without those that weights fill.
  std::vector<OnnxValue> outputs;
  std::map<std::string, OnnxValue> stated;  // By name: value_info and outputs.
  std::vector<OnnxTensor> weights;
  std::vector<OnnxNode> nodes;
};

// Reads everything but the weights' data, in bounded memory. Fails on what is no ONNX file, is cut
// off, or whose sizes exceed 63 bits.
Result<OnnxModel> read_onnx_model(const RandomAccess& file);

WeightFile weights_of(const OnnxModel& model);

}  // namespace headroom::estimate
