// SPDX-License-Identifier: Apache-2.0
// Not a parser: a planted bug, three comparisons deep. A run in which this fuzzer finds nothing
// proves nothing about the others, so run.sh fails then.
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = headroom::fuzz::to_text(data, size);
  const bool planted = text.size() > 2 && text[0] == 'b' && text[1] == 'u' && text[2] == 'g';
  headroom::fuzz::require(!planted);
  return 0;
}
