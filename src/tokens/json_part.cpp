// SPDX-License-Identifier: Apache-2.0
#include "tokens/json_part.h"

#include <fmt/format.h>

#include "base/document.h"
#include "base/text.h"

namespace headroom::tokens {

void refuse_type(TableReader& table, std::string_view part, const std::vector<std::string>& known) {
  const std::string found = table.text("type");
  table.fail("type", Errc::unsupported,
             fmt::format("expected a {} that headroom-train knows ({}), found \"{}\"", part,
                         join(known, ", "), found),
             "tokenise the data with the model's own tokenizer and write kind = \"tokens\"");
}

Pattern read_pattern(TableReader& table, std::string_view key) {
  TableReader pattern = table.table(key);
  if (pattern.has("String")) return Pattern::exactly(pattern.text("String"));
  const std::string expression = pattern.text("Regex");
  auto compiled = Pattern::compile(expression);
  if (compiled) return *std::move(compiled);
  pattern.fail("Regex", compiled.error().code, compiled.error().message, compiled.error().next);
  return Pattern::exactly("");
}

}  // namespace headroom::tokens
