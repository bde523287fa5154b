// SPDX-License-Identifier: Apache-2.0
// The header of a safetensors file, in front of 64 bytes of data.
#include "estimate/files/safetensors_header.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  constexpr std::uint64_t data_bytes = 64;
  const std::string_view json = fuzz::to_text(data, size);
  const estimate::FileExtent extent{8 + json.size(), 8 + json.size() + data_bytes};
  const auto header = estimate::parse_safetensors_header(json, extent);
  if (!header) {
    fuzz::require(!header.error().message.empty());
    return 0;
  }
  std::uint64_t sum = 0;
  for (const auto& [name, tensor] : header->tensors) {
    fuzz::require(tensor.offset >= extent.data_start);
    fuzz::require(tensor.offset <= extent.file_bytes &&
                  tensor.bytes <= extent.file_bytes - tensor.offset);
    fuzz::require(estimate::safetensors_element_bytes(tensor.dtype) != 0);
    sum += tensor.bytes;
  }
  fuzz::require(sum <= data_bytes);
  return 0;
}
