// SPDX-License-Identifier: Apache-2.0
// What stands before a line's own text: all parts lie in the line, the rest is its end.
#include "fuzz.h"
#include "logs/line_prefix.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  using namespace headroom::fuzz;
  const std::string_view text = to_text(data, size);
  const logs::Line line = logs::parse_prefix(text);
  require(text.ends_with(line.body));
  require(line.body.data() + line.body.size() == text.data() + text.size());
  for (const std::string_view part : {line.time, line.origin}) {
    require(part.empty() ||
            (part.data() >= text.data() && part.data() + part.size() <= line.body.data()));
  }
  return 0;
}
