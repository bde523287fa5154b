// SPDX-License-Identifier: Apache-2.0
// parse_json, parse_toml and parse_document: any text, of any nesting.
#include "base/document.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const std::string_view text = fuzz::to_text(data, size);
  const auto json = parse_json(text);
  // What was read can be written, and reads back as the same.
  if (json) fuzz::require(parse_json(json->dump()) == *json);
  if (const auto toml = parse_toml(text)) {
    fuzz::require(toml->value.is_object());
    fuzz::require(parse_json(toml->value.dump()).has_value());
    for (const auto& [pointer, line] : toml->lines) fuzz::require(line >= 0);
  }
  const auto document = parse_document(text);
  if (!document) fuzz::require(!document.error().message.empty());
  return 0;
}
