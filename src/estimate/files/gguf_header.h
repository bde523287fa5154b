// SPDX-License-Identifier: Apache-2.0
// The header of a GGUF file: what is told of the model, and where each tensor lies. Format:
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3; version 3 may be
// big-endian). Strictness is that of ggml's own reader (gguf.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/random_access.h"
#include "base/result.h"
#include "estimate/files/weight_file.h"

namespace headroom::estimate {

// An array's length, and its elements where they are few and numbers (per-layer values). Of a list
// of texts, such as a vocabulary, only the length is kept.
struct GgufArray {
  std::uint64_t length = 0;
  std::vector<double> numbers;  // All of them, or none.
};

// Whole numbers are exact up to 2^64; a text that is longer than 4 KiB (a chat template) is empty.
using GgufValue = std::variant<bool, std::uint64_t, std::int64_t, double, std::string, GgufArray>;

struct GgufHeader {
  std::uint32_t version = 0;
  bool big_endian = false;
  std::map<std::string, GgufValue> metadata;
  WeightFile weights;

  // Null if the key is not there or is of another kind. A whole number may be of any width.
  const std::string* text(const std::string& key) const;
  std::optional<std::uint64_t> number(const std::string& key) const;
  std::optional<double> real(const std::string& key) const;
  const GgufArray* array(const std::string& key) const;
};

// Reads the header only, in bounded memory (about 1 GiB of header is the most). Fails on what is
// no GGUF file, is cut off anywhere (also in the tensors' data), says a thing twice, or whose sizes
// exceed 64 bits.
Result<GgufHeader> read_gguf_header(const RandomAccess& file);

}  // namespace headroom::estimate
