// SPDX-License-Identifier: Apache-2.0
// /proc/PID/fdinfo/N, in all layouts.
#include "facts/fdinfo.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const auto client = facts::parse_fdinfo(fuzz::to_text(data, size));
  if (client) fuzz::require(!client->driver.empty() && !client->pdev.empty());
  return 0;
}
