// SPDX-License-Identifier: Apache-2.0
// record.json of the journal, as a disk may give it back: whatever is taken for a record is written
// and read again as the same one.
#include "fuzz.h"
#include "plan/record_json.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const auto record = plan::parse_record(fuzz::to_text(data, size));
  if (!record) {
    fuzz::require(!record.error().message.empty() && !record.error().next.empty());
    return 0;
  }
  const std::string text = plan::to_json_text(*record);
  const auto again = plan::parse_record(text);
  fuzz::require(again.has_value());
  fuzz::require(plan::to_json_text(*again) == text);
  return 0;
}
