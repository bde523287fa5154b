// SPDX-License-Identifier: Apache-2.0
// parse_record: how far a deployment has come. What was read is written and read again the same.
#include "deploy/record.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const auto record = deploy::parse_record(fuzz::to_text(data, size));
  if (!record) {
    fuzz::require(!record.error().message.empty());
    return 0;
  }
  const std::string text = deploy::to_json_text(*record);
  const auto again = deploy::parse_record(text);
  fuzz::require(again && deploy::to_json_text(*again) == text);
  return 0;
}
