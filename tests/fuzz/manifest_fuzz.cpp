// SPDX-License-Identifier: Apache-2.0
// MANIFEST.json of a captured machine: whatever a stranger wrote there is read, and what is
// understood of it is written and read again.
#include "base/document.h"
#include "fuzz.h"
#include "machine/recording.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  using namespace headroom::fuzz;
  const machine::Manifest once = machine::parse_manifest(to_text(data, size));
  machine::Recording recording;
  recording.refused = once.refused;
  recording.unanswered = once.unanswered;
  const machine::Manifest twice = machine::parse_manifest(
      to_manifest(recording).dump(-1, ' ', false, Json::error_handler_t::replace));
  require(twice.refused.size() == once.refused.size());
  require(twice.unanswered.size() == once.unanswered.size());
  return 0;
}
