// SPDX-License-Identifier: Apache-2.0
#include "allocator/self_test/timed_backend.h"

#include <algorithm>
#include <limits>

namespace headroom::allocator {
namespace {

constexpr std::uint64_t pages_timed = 8;

Status time_pages(Backend& backend) {
  HEADROOM_TRY(const std::uint64_t range, backend.reserve_range(pages_timed * page_bytes));
  std::vector<PageHandle> pages;
  for (std::uint64_t i = 0; i < pages_timed; ++i) {
    HEADROOM_TRY(pages.emplace_back(), backend.create_pages(1));
  }
  for (std::uint64_t i = 0; i < pages_timed; ++i) {
    HEADROOM_CHECK(backend.map(range + i * page_bytes, pages[i]));
    HEADROOM_CHECK(backend.allow_access(range, (i + 1) * page_bytes));
  }
  HEADROOM_CHECK(backend.wait_for(0));
  for (std::uint64_t i = 0; i < pages_timed; ++i)
    HEADROOM_CHECK(backend.unmap(range + i * page_bytes));
  for (const PageHandle page : pages) HEADROOM_CHECK(backend.destroy_pages(page));
  return Done{};
}

}  // namespace

std::uint32_t TimedBackend::median_ns(Kind kind) const {
  std::vector<std::uint64_t> sorted = durations_ns_[kind];
  if (sorted.empty()) return 0;
  std::sort(sorted.begin(), sorted.end());
  const std::uint64_t median = sorted[sorted.size() / 2];
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(median, std::numeric_limits<std::uint32_t>::max()));
}

CallCosts TimedBackend::costs() const {
  return {.reserve = median_ns(reserve),
          .create = median_ns(create),
          .destroy = median_ns(destroy),
          .map = median_ns(mapping),
          .allow_access = median_ns(access),
          .unmap = median_ns(unmapping),
          .allocate = median_ns(allocation),
          .release = median_ns(releasing),
          .wait = median_ns(waiting)};
}

Result<CallCosts> measure_costs(Backend& backend, const TimedBackend::Clock& now_ns) {
  TimedBackend timed(backend, now_ns);
  if (backend.capabilities().virtual_memory) HEADROOM_CHECK(time_pages(timed));
  for (std::uint64_t i = 0; i < pages_timed; ++i) {
    HEADROOM_TRY(const std::uint64_t address, timed.allocate(page_bytes));
    HEADROOM_CHECK(timed.release(address));
  }
  return timed.costs();
}

}  // namespace headroom::allocator
