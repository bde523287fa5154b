// SPDX-License-Identifier: Apache-2.0
#include "deploy/interpolation.h"

#include <re2/re2.h>

namespace headroom::deploy {

std::string fill_in_variables(std::string_view text,
                              const std::map<std::string, std::string>& variables) {
  static const RE2 next(
      R"(([^$]*)(\$\$|\$([A-Za-z_]\w*)|\$\{([A-Za-z_]\w*)(?:(:?-)([^${}]*))?\}|\$))");
  std::string filled, before, whole, bare, braced, kind, otherwise;
  re2::StringPiece rest(text.data(), text.size());
  while (RE2::Consume(&rest, next, &before, &whole, &bare, &braced, &kind, &otherwise)) {
    filled += before;
    if (whole == "$$") {
      filled += '$';
      continue;
    }
    const auto known = variables.find(bare.empty() ? braced : bare);
    const bool empty_counts = kind != ":-";
    if (known != variables.end() && (empty_counts || !known->second.empty())) {
      filled += known->second;
    } else {
      filled += kind.empty() ? whole : otherwise;
    }
  }
  return filled + std::string(rest);
}

}  // namespace headroom::deploy
