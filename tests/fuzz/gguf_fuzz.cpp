// SPDX-License-Identifier: Apache-2.0
// A GGUF file, up to the config that it describes.
#include "base/document.h"
#include "base/random_access.h"
#include "estimate/files/gguf_config.h"
#include "estimate/models/architecture.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const auto header = estimate::read_gguf_header(MemoryBytes(fuzz::to_text(data, size)));
  if (!header) {
    fuzz::require(!header.error().message.empty() && !header.error().next.empty());
    return 0;
  }
  std::uint64_t sum = 0;
  for (const auto& tensor : header->weights.tensors) sum += tensor.bytes;
  fuzz::require(sum == header->weights.bytes && sum <= size);
  const auto config = estimate::to_config(*header);
  if (!config) {
    fuzz::require(!config.error().next.empty());
    return 0;
  }
  const auto model = estimate::parse_architecture(*config);
  if (!model) fuzz::require(!model.error().message.empty());
  return 0;
}
