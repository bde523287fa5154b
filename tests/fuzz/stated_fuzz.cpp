// SPDX-License-Identifier: Apache-2.0
// Facts that a person typed in: what is taken can be asked for, and what is not has a reason.
#include "facts/stated.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  using namespace headroom::fuzz;
  const auto stated = facts::parse_stated(to_text(data, size), "stated.json");
  if (!stated) {
    require(!stated.error().message.empty());
    return 0;
  }
  for (const auto& [key, value] : stated->values) {
    const facts::Text text = stated->get(key);
    require(text && *text == value);
  }
  require(!stated->get("no such key"));
  return 0;
}
