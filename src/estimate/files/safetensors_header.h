// SPDX-License-Identifier: Apache-2.0
// The header of a safetensors file: which tensor lies where. Format:
// https://huggingface.co/docs/safetensors (8 bytes length of the header, little-endian; the header,
// JSON; then the tensors' data without gaps, offsets counted from its start). The planner counts
// the weights by it, the trainer reads and writes them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/random_access.h"
#include "base/result.h"

namespace headroom::estimate {

struct SafetensorsEntry {
  std::string dtype;  // "F32", "BF16", …
  std::vector<std::int64_t> shape;
  std::uint64_t offset = 0;  // From the start of the file.
  std::uint64_t bytes = 0;
};

struct SafetensorsHeader {
  std::map<std::string, SafetensorsEntry> tensors;
  std::map<std::string, std::string> metadata;  // "__metadata__"
};

// The largest header that the format's own library accepts.
inline constexpr std::uint64_t largest_safetensors_header_bytes = 100'000'000;

// Bytes per element of a dtype of the format, or 0 for a name that is none.
std::uint64_t safetensors_element_bytes(std::string_view dtype);

// `json` is the header's text, `data_start` where the data begins and `file_bytes` how long the
// file is. Fails unless every tensor has a known dtype, a size that follows from its shape, and a
// place of its own inside the file, without gaps.
struct FileExtent {
  std::uint64_t data_start = 0;
  std::uint64_t file_bytes = 0;
};
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, FileExtent extent);

// The same from the file itself, of which only the header is read.
Result<SafetensorsHeader> read_safetensors_header(const RandomAccess& file);

// The reverse: the first 8 + N bytes of a file, padded so that the data starts at a multiple of 8.
// Fills in the entries' offsets (from the start of the file), in the order given.
struct NamedSafetensor {
  std::string name;
  SafetensorsEntry entry;
};
std::string make_safetensors_header(std::vector<NamedSafetensor>& entries,
                                    const std::map<std::string, std::string>& metadata);

}  // namespace headroom::estimate
