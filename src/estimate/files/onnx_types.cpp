// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "estimate/files/onnx_model.h"

namespace headroom::estimate {
namespace {

constexpr std::array<OnnxType, 24> types = {{
    {1, "FLOAT", 32, true},      {2, "UINT8", 8, false},          {3, "INT8", 8, false},
    {4, "UINT16", 16, false},    {5, "INT16", 16, false},         {6, "INT32", 32, false},
    {7, "INT64", 64, false},     {8, "STRING", 0, false},         {9, "BOOL", 8, false},
    {10, "FLOAT16", 16, true},   {11, "DOUBLE", 64, true},        {12, "UINT32", 32, false},
    {13, "UINT64", 64, false},   {14, "COMPLEX64", 64, true},     {15, "COMPLEX128", 128, true},
    {16, "BFLOAT16", 16, true},  {17, "FLOAT8E4M3FN", 8, true},   {18, "FLOAT8E4M3FNUZ", 8, true},
    {19, "FLOAT8E5M2", 8, true}, {20, "FLOAT8E5M2FNUZ", 8, true}, {21, "UINT4", 4, false},
    {22, "INT4", 4, false},      {23, "FLOAT4E2M1", 4, true},     {24, "FLOAT8E8M0", 8, true},
}};

}  // namespace

const OnnxType* find_onnx_type(std::uint64_t id) {
  const auto* const found =
      std::find_if(types.begin(), types.end(), [&](const OnnxType& type) { return type.id == id; });
  return found == types.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> onnx_bytes(const std::vector<std::uint64_t>& shape, std::uint64_t id) {
  const OnnxType* type = find_onnx_type(id);
  if (type == nullptr) return std::nullopt;
  std::uint64_t elements = 1;
  for (const std::uint64_t size : shape) {
    if (size != 0 && elements > INT64_MAX / size) return std::nullopt;
    elements *= size;
  }
  if (type->bits == 0) return 0;
  if (elements > INT64_MAX / type->bits) return std::nullopt;
  return (elements * type->bits + 7) / 8;
}

WeightFile weights_of(const OnnxModel& model) {
  WeightFile file;
  file.format = WeightFileFormat::onnx;
  for (const OnnxTensor& weight : model.weights) {
    file.tensors.push_back(
        {weight.name, weight.shape, std::string(find_onnx_type(weight.type)->name), weight.bytes});
    file.bytes += weight.bytes;  // The reader has made sure of the sum.
  }
  return file;
}

}  // namespace headroom::estimate
