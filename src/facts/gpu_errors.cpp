// SPDX-License-Identifier: Apache-2.0
#include "facts/gpu_errors.h"

#include "base/text.h"

namespace headroom::facts {

RasCount parse_ras_count(std::string block, const Text& text) {
  constexpr std::string_view busy = "Query currently inaccessible";
  RasCount count;
  count.block = std::move(block);
  if (text && trim(*text).starts_with(busy)) {
    const Fact<std::uint64_t> none{Missing{Why::unreadable, std::string(busy)}, text.source()};
    count.uncorrectable = count.correctable = none;
    return count;
  }
  count.uncorrectable = find_number(text, "ue");
  count.correctable = find_number(text, "ce");
  return count;
}

Fact<std::uint64_t> parse_aer_total(const Text& text, std::string_view total) {
  return find_number(text, total);
}

}  // namespace headroom::facts
