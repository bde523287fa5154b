// SPDX-License-Identifier: Apache-2.0
// A .npy file of token ids: where its header says they are, they fit into the file. The same bytes
// as a .bin file likewise.
#include "fuzz.h"
#include "tokens/npy_layout.h"

namespace {

void check(const headroom::Result<headroom::tokens::TokenLayout>& layout, std::size_t size) {
  using headroom::fuzz::require;
  if (!layout) {
    require(!layout.error().message.empty() && !layout.error().next.empty());
    return;
  }
  require(layout->offset <= size);
  require(layout->count == (size - layout->offset) / size_of(layout->type));
  require(layout->columns == 0 || layout->count % layout->columns == 0);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const MemoryBytes bytes(fuzz::to_text(data, size));
  check(tokens::read_npy_layout(bytes), size);
  for (const std::uint64_t vocabulary : {std::uint64_t{50257}, std::uint64_t{128256}})
    check(tokens::read_bin_layout(bytes, {{}, vocabulary}), size);
  return 0;
}
