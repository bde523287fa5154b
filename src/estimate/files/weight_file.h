// SPDX-License-Identifier: Apache-2.0
// What the headers of a model's weight files say: every tensor with its shape, how it is stored and
// what it takes, exactly. No arithmetic over a config beats it for the bytes of the weights.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random_access.h"
#include "base/result.h"
#include "estimate/recorder.h"

namespace headroom::estimate {

enum class WeightFileFormat : std::uint8_t { safetensors, gguf, onnx };
std::string_view to_string(WeightFileFormat format);  // "safetensors", "GGUF", "ONNX"

struct StoredTensor {
  std::string name;
  std::vector<std::uint64_t> shape;  // Outermost first, also of GGUF, whose files say it last.
  std::string type;                  // As the format calls it: "BF16", "Q4_K", "FLOAT16"
  std::uint64_t bytes = 0;
};

struct WeightFile {
  WeightFileFormat format = WeightFileFormat::safetensors;
  std::vector<StoredTensor> tensors;
  std::uint64_t bytes = 0;  // Of all tensors. Never overflows: readers refuse what would.

  const StoredTensor* find(std::string_view name) const;
  std::map<std::string, std::uint64_t> bytes_by_type() const;
};

// Adds the tensors of another file of the same model. Fails where both have a tensor of one name,
// and where the sum exceeds 64 bits.
Status add_shard(WeightFile& whole, WeightFile shard);

// What a stored tensor becomes when it is loaded. Floating-point tensors of safetensors are
// converted to `dtype`; integers (the packed weights of GPTQ and AWQ), eight-bit floats and the
// blocks of GGUF stay as they are, and count as bytes.
Meta loaded_as(const StoredTensor& tensor, WeightFileFormat format, DType dtype);

// Whether weights are packed in it, so that no dtype of a job changes what they take.
bool is_packed(const WeightFile& file);

// "GGUF, 291 tensors, 4.07 GiB: Q4_K 3.61 GiB, Q6_K 469.2 MiB, F32 1.0 MiB", largest first.
std::string to_text(const WeightFile& file);

// Reads the header only.
Result<WeightFile> read_safetensors(const RandomAccess& file);

}  // namespace headroom::estimate
