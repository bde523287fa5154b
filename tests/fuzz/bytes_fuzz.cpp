// SPDX-License-Identifier: Apache-2.0
// parse_bytes: a size as people write it.
#include "base/bytes.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const auto bytes = parse_bytes(fuzz::to_text(data, size));
  if (!bytes) {
    fuzz::require(!bytes.error().message.empty() && !bytes.error().next.empty());
    return 0;
  }
  const auto again = parse_bytes(std::to_string(bytes->value));
  fuzz::require(again && *again == *bytes);
  // The largest are rounded up to 2^64 when printed.
  if (bytes->value < std::uint64_t{1} << 63U)
    fuzz::require(parse_bytes(to_string(*bytes)).has_value());
  return 0;
}
