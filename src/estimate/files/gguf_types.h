// SPDX-License-Identifier: Apache-2.0
// How ggml stores numbers: in blocks, each of so many elements and so many bytes. The table is
// ggml.c's type_traits with the block sizes that ggml-common.h asserts; numbers that are not in it
// were taken back by ggml or are newer than this table.
#pragma once

#include <cstdint>
#include <string_view>

namespace headroom::estimate {

struct GgmlType {
  std::uint32_t id = 0;  // As in a tensor's entry.
  std::string_view name;
  std::uint64_t block_elements = 1;
  std::uint64_t block_bytes = 0;
};

// Null for a number that is no type, or none any more.
const GgmlType* find_ggml_type(std::uint64_t id);

}  // namespace headroom::estimate
