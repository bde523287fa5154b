// SPDX-License-Identifier: Apache-2.0
// The results of self-tests, as kept in a person's cache folder: what parses is written again to
// the same, and no result in it can claim more than a test that passed.
#include "allocator/self_test/self_test_record.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const auto cache = allocator::parse_cache(fuzz::to_text(data, size));
  if (!cache) {
    fuzz::require(!cache.error().message.empty());
    return 0;
  }
  const std::string text = allocator::format_cache(*cache);
  const auto again = allocator::parse_cache(text);
  fuzz::require(again.has_value() && allocator::format_cache(*again) == text);
  for (const allocator::SelfTestResult& result : cache->results()) {
    const allocator::SelfTestReport& report = result.report;
    fuzz::require(report.measured.virtual_memory == report.passed);
    for (const allocator::SelfTestStep& step : report.steps)
      fuzz::require(step.passed || !report.passed);
    fuzz::require(!allocator::to_text(report).empty());
  }
  return 0;
}
