// SPDX-License-Identifier: Apache-2.0
// parse_service_spec: SERVICE.toml.
#include "deploy/spec.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const auto spec = deploy::parse_service_spec(fuzz::to_text(data, size), "service.toml");
  if (!spec) {
    fuzz::require(!spec.error().message.empty());
    return 0;
  }
  fuzz::require(!spec->changes.empty() && spec->smoke.repeat >= spec->smoke.concurrency);
  fuzz::require(spec->smoke.request.has_value() == spec->smoke.command.empty());
  return 0;
}
