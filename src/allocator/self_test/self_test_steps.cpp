// SPDX-License-Identifier: Apache-2.0
#include "allocator/self_test/self_test_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/bytes.h"

namespace headroom::allocator {
namespace {

double milliseconds(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

Result<std::string> plain_memory(SelfTestBench& bench, Capabilities& /*measured*/) {
  constexpr std::uint32_t word = 0x5ca1ab1eU;
  HEADROOM_TRY(const std::uint64_t address, bench.backend().allocate(2 * page_bytes));
  HEADROOM_CHECK(bench.device().fill(address, page_bytes, word));
  HEADROOM_CHECK(bench.device().copy(address + page_bytes, address, page_bytes));
  std::array<std::uint64_t, 8> end{};
  HEADROOM_CHECK(bench.device().read(address + 2 * page_bytes - sizeof(end), end));
  const std::uint64_t expected = (std::uint64_t{word} << 32U) | word;
  for (const std::uint64_t found : end) {
    if (found != expected)
      return Error{Errc::io, fmt::format("filled with {:#x}, read {:#x}", expected, found), ""};
  }
  HEADROOM_CHECK(bench.backend().release(address));
  return "filled, copied, read and released 4 MiB";
}

Result<std::string> addresses(SelfTestBench& bench, Capabilities& /*measured*/) {
  HEADROOM_CHECK(bench.reserve());
  return fmt::format("{} ranges of {}", SelfTestBench::range_count,
                     to_string(Bytes{bench.limits().pages * page_bytes}));
}

Result<std::string> pages(SelfTestBench& bench, Capabilities& /*measured*/) {
  HEADROOM_CHECK(bench.create_pages(bench.limits().pages));
  return fmt::format("{} pages of 2 MiB", bench.pages());
}

// The device writes every other page and the host the rest, since they see memory through different
// page tables.
Status write_either_way(SelfTestBench& bench, std::size_t page, std::uint64_t round) {
  const std::uint64_t address = bench.at(0, page);
  return page % 2 == 0 ? bench.fill(address, round) : bench.write(address, round);
}

Status verify_either_way(SelfTestBench& bench, std::size_t page, std::uint64_t round) {
  const std::uint64_t address = bench.at(0, page);
  return page % 2 == 0 ? bench.verify_fill(address, round) : bench.verify(address, round);
}

// Maps all pages, four at a time, writes each group `delay_ns` after it was mapped, and checks it
// at once and again when it must have settled long ago.
Status try_delay(SelfTestBench& bench, std::uint64_t delay_ns, std::uint64_t round) {
  constexpr std::size_t group = 4;
  constexpr std::uint64_t long_ns = 5'000'000;
  bench.set_settle_ns(delay_ns);
  Status lost = Done{};
  for (std::size_t page = 0; page + group <= bench.pages(); page += group) {
    HEADROOM_CHECK(bench.place(bench.at(0, page), page, group));
    for (std::size_t i = 0; i < group; ++i)
      HEADROOM_CHECK(write_either_way(bench, page + i, round));
    for (std::size_t i = 0; i < group && lost; ++i)
      lost = verify_either_way(bench, page + i, round);
  }
  bench.device().pause(long_ns);
  for (std::size_t page = 0; page < bench.pages() && lost; ++page)
    lost = verify_either_way(bench, page, round);
  return lost;
}

// ROCm/rocm-systems#11693: for 1 to 2 ms after a range was mapped it reads zeros and loses stores.
Result<std::string> settling(SelfTestBench& bench, Capabilities& measured) {
  constexpr std::array<std::uint64_t, 6> delays_ns = {0,         250'000,   500'000,
                                                      1'000'000, 2'000'000, 4'000'000};
  Status lost = Done{};
  std::uint64_t round = 100;
  for (const std::uint64_t delay : delays_ns) {
    HEADROOM_CHECK(bench.unmap_all());
    lost = try_delay(bench, delay, ++round);
    if (!lost) continue;
    // The time varies, so twice the sufficient delay is taken.
    measured.settle_ns = std::max(2 * delay, bench.limits().least_settle_ns);
    bench.set_settle_ns(measured.settle_ns);
    return fmt::format("writes hold {:.2f} ms after mapping; {:.2f} ms are kept",
                       milliseconds(delay), milliseconds(measured.settle_ns));
  }
  return std::move(lost).error().in(
      fmt::format("{:.2f} ms after mapping", milliseconds(delays_ns.back())));
}

Result<std::string> remapping(SelfTestBench& bench, Capabilities& /*measured*/) {
  constexpr std::uint64_t round = 200;
  HEADROOM_CHECK(bench.write_all(round));  // The settling step left all pages mapped.
  HEADROOM_CHECK(bench.unmap_all());
  const std::size_t count = bench.pages();
  for (std::size_t page = 0; page < count; ++page)
    HEADROOM_CHECK(bench.map(bench.at(1, count - 1 - page), page));
  HEADROOM_CHECK(bench.open(bench.at(1, 0), count));
  HEADROOM_CHECK(bench.verify_all(round));
  HEADROOM_TRY(const std::uint64_t scratch, bench.backend().allocate(page_bytes));
  for (std::size_t page = 0; page < count; page += 5)
    HEADROOM_CHECK(bench.verify_copy(bench.at(1, page), round, scratch));
  HEADROOM_CHECK(bench.backend().release(scratch));
  HEADROOM_CHECK(bench.unmap_all());
  return fmt::format("{} pages kept their contents in another range and order", count);
}

// ROCm/rocm-systems#6977, llama.cpp#23900: access to what was mapped behind other pages is refused.
Result<std::string> growing(SelfTestBench& bench, Capabilities& measured) {
  constexpr std::uint64_t round = 300;
  std::size_t used = 0;
  for (std::size_t count = 1; used + count <= bench.pages(); used += count, ++count) {
    HEADROOM_CHECK(bench.place(bench.at(2, used), used, count));
    for (std::size_t i = 0; i < count; ++i)
      HEADROOM_CHECK(bench.write(bench.at(2, used + i), round));
  }
  HEADROOM_CHECK(bench.verify_all(round));
  HEADROOM_CHECK(bench.unmap_all());
  measured.access_from_start_only = bench.backend().capabilities().access_from_start_only;
  return fmt::format("{} pages, behind each other{}", used,
                     measured.access_from_start_only ? "; access only from the first on" : "");
}

// ROCm/rocm-systems#2516: some sizes are always refused.
Result<std::string> sizes(SelfTestBench& bench, Capabilities& /*measured*/) {
  constexpr std::uint64_t round = 400;
  constexpr std::array<std::size_t, 12> counts = {1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 21, 24};
  for (const std::size_t count : counts) {
    HEADROOM_CHECK(bench.place(bench.at(count % SelfTestBench::range_count, count / 2), 0, count));
    for (std::size_t i = 0; i < count; ++i)
      HEADROOM_CHECK(bench.write_start(bench.at(count % SelfTestBench::range_count, count / 2 + i),
                                       round + count));
    for (std::size_t i = 0; i < count; ++i)
      HEADROOM_CHECK(bench.verify_start(bench.at(count % SelfTestBench::range_count, count / 2 + i),
                                        round + count));
    HEADROOM_CHECK(bench.unmap_all());
  }
  return fmt::format("{} sizes from {} to {} pages", counts.size(), counts.front(), counts.back());
}

// ROCm/hip#3763: mappings with gaps between them end in memory faults. Several ranges in turn are
// what ROCm/rocm-systems#6977 fails on.
Result<std::string> gaps(SelfTestBench& bench, Capabilities& /*measured*/) {
  constexpr std::uint64_t round = 500;
  const std::size_t count = bench.pages() / 2;
  for (std::size_t page = 0; page < count; ++page)
    HEADROOM_CHECK(bench.place(bench.at(page % SelfTestBench::range_count, 2 * page), page, 1));
  HEADROOM_CHECK(bench.write_all(round));
  HEADROOM_CHECK(bench.verify_all(round));
  HEADROOM_CHECK(bench.unmap_all());
  return fmt::format("{} single pages in {} ranges", count, SelfTestBench::range_count);
}

// Checks the first and the last bytes of a page.
Status verify_ends(DeviceAccess& device, std::uint64_t address, std::uint32_t word) {
  const std::uint64_t expected = (std::uint64_t{word} << 32U) | word;
  std::array<std::uint64_t, 8> found{};
  for (const std::uint64_t at : {address, address + page_bytes - sizeof(found)}) {
    HEADROOM_CHECK(device.read(at, found));
    for (const std::uint64_t each : found)
      if (each != expected)
        return Error{Errc::io, fmt::format("at {:#x}: wrote {:#x}, read {:#x}", at, expected, each),
                     ""};
  }
  return Done{};
}

// The device fills each page with a word of its own, and then all pages move to other addresses.
// Returns false if the driver refuses such a handle.
Result<bool> try_handle(SelfTestBench& bench, std::uint32_t count, std::uint32_t word) {
  const auto handle = bench.backend().create_pages(count);
  if (!handle) return false;
  for (const std::size_t range : {1, 2}) {
    const std::uint64_t address = bench.at(range, range);
    if (!bench.backend().map(address, *handle) || !bench.open(address, count)) return false;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t page = address + i * page_bytes;
      if (range == 1) HEADROOM_CHECK(bench.device().fill(page, page_bytes, word + i));
      HEADROOM_CHECK(verify_ends(bench.device(), page, word + i));
    }
    if (!bench.backend().unmap(address)) return false;
  }
  HEADROOM_CHECK(bench.backend().destroy_pages(*handle));
  return true;
}

// Several pages per handle need fewer calls. If the device refuses them, it is used page by page.
// If contents get lost, the step fails.
Result<std::string> handles(SelfTestBench& bench, Capabilities& measured) {
  constexpr std::array<std::uint32_t, 3> counts = {2, 8, 16};
  std::uint32_t word = 0x5e7e0000U;
  for (const std::uint32_t count : counts) {
    HEADROOM_TRY(const bool works, try_handle(bench, count, word += 0x100));
    if (!works) return fmt::format("refused with {} pages; pages are used one by one", count);
  }
  measured.several_pages_per_handle = true;
  return fmt::format("up to {} pages under one handle", counts.back());
}

// ROCm/legacy-rocm-build#6603: live data reads zeros after 144 cycles of mapping elsewhere.
Result<std::string> live_data(SelfTestBench& bench, Capabilities& /*measured*/) {
  constexpr std::uint64_t round = 600;
  constexpr std::size_t least_cycles = 160;
  const std::size_t live = bench.pages() / 3;
  HEADROOM_CHECK(bench.place(bench.at(0, 0), 0, live));
  HEADROOM_CHECK(bench.write_all(round));
  const std::size_t moving = bench.pages() - live;
  std::size_t cycle = 0;
  for (; cycle < bench.limits().cycles && (cycle < least_cycles || !bench.out_of_time()); ++cycle) {
    const std::uint64_t place = bench.at(1 + cycle % 2, 2 * (cycle % 11));
    const std::size_t page = live + 2 * (cycle % (moving / 2));
    HEADROOM_CHECK(bench.place(place, page, 2));
    HEADROOM_CHECK(bench.write_start(place, round + cycle));
    HEADROOM_CHECK(bench.write_start(place + page_bytes, round + cycle));
    HEADROOM_CHECK(bench.verify_start(place, round + cycle));
    HEADROOM_CHECK(bench.verify_start(place + page_bytes, round + cycle));
    HEADROOM_CHECK(bench.unmap(place));
    HEADROOM_CHECK(bench.unmap(place + page_bytes));
    HEADROOM_CHECK(bench.verify_start(bench.at(0, cycle % live), round));
  }
  for (std::size_t page = 0; page < live; ++page)
    HEADROOM_CHECK(bench.verify(bench.at(0, page), round));
  HEADROOM_CHECK(bench.unmap_all());
  return fmt::format("{} pages unharmed by {} cycles beside them", live, cycle);
}

// ROCm/hip#3781: a page destroyed while addresses are reserved keeps its memory. This is not a
// failure, since the allocator can do without. ROCm/hip#3892: the free memory that HIP reports may
// make no sense.
Result<std::string> giving_back(SelfTestBench& bench, Capabilities& measured) {
  const std::uint64_t bytes = bench.pages() * page_bytes;
  const auto before = bench.device().free_bytes();
  HEADROOM_CHECK(bench.destroy_pages());
  const auto after = bench.device().free_bytes();
  // Other processes may take and free memory meanwhile, but hardly three quarters of this.
  measured.destroy_returns_memory = before && after && *after >= *before + bytes / 4 * 3;
  HEADROOM_CHECK(bench.create_pages(4));
  HEADROOM_CHECK(bench.place(bench.at(0, 0), 0, 4));
  HEADROOM_CHECK(bench.write_all(700));
  HEADROOM_CHECK(bench.verify_all(700));
  HEADROOM_CHECK(bench.unmap_all());
  HEADROOM_CHECK(bench.destroy_pages());
  if (!before || !after) return "the device does not say what is free; taken as not given back";
  const std::uint64_t freed = *after > *before ? *after - *before : 0;
  return fmt::format("{} of {} were free again at once", to_string(Bytes{freed}),
                     to_string(Bytes{bytes}));
}

constexpr std::array<SelfTestStepKind, 11> steps = {
    {{"plain memory", "what the device fills and copies is read back", plain_memory},
     {"addresses", "aligned ranges that do not overlap", addresses},
     {"pages", "as many as asked for", pages},
     {"settling", "writes hold, at most 4 ms after mapping", settling},
     {"remapping", "contents follow their page", remapping},
     {"growing", "access to pages mapped behind others", growing},
     {"sizes", "access to stretches of any size", sizes},
     {"gaps", "access to pages with gaps between them", gaps},
     {"handles", "several pages under one keep their contents, or are refused", handles},
     {"live data", "pages that are not touched keep their contents", live_data},
     {"giving back", "destroyed pages are free again, or known not to be", giving_back}}};

}  // namespace

std::span<const SelfTestStepKind> self_test_steps() {
  return steps;
}

}  // namespace headroom::allocator
