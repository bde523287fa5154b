// SPDX-License-Identifier: Apache-2.0
// A topology node of the compute driver; the same text stands for its properties and its banks.
#include "facts/kfd.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const facts::Text text(std::string(fuzz::to_text(data, size)), facts::Source{"/fuzzed", 0, ""});
  const facts::KfdNode node = facts::parse_kfd_node(0, text, text, {{text, text}, {text, text}});
  fuzz::require(!node.is_gpu() || node.is_readable());
  const auto address = facts::pci_address(node);
  if (address) fuzz::require(address->size() >= 12);
  return 0;
}
