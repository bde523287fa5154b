// SPDX-License-Identifier: Apache-2.0
#include "allocator/self_test/self_test_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace headroom::allocator {
namespace {

constexpr std::size_t page_words = page_bytes / sizeof(std::uint64_t);
constexpr std::size_t start_words = 64;

// The finaliser of splitmix64: no two seeds have the same first word.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

std::string difference(std::span<const std::uint64_t> expected,
                       std::span<const std::uint64_t> found) {
  const auto first = std::mismatch(expected.begin(), expected.end(), found.begin());
  const auto at = static_cast<std::size_t>(first.first - expected.begin());
  std::size_t wrong = 0;
  std::size_t zeros = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    wrong += expected[i] != found[i] ? 1 : 0;
    zeros += expected[i] != found[i] && found[i] == 0 ? 1 : 0;
  }
  return fmt::format("{} of {} words are wrong, {} of them zero; word {}: wrote {:#x}, read {:#x}",
                     wrong, expected.size(), zeros, at, *first.first, *first.second);
}

}  // namespace

SelfTestBench::SelfTestBench(Backend& backend, DeviceAccess& device, const SelfTestLimits& limits)
    : backend_(&backend),
      device_(&device),
      limits_(limits),
      started_ns_(device.now_ns()),
      expected_(page_words),
      read_(page_words) {}

Status SelfTestBench::reserve() {
  for (std::uint64_t& range : ranges_) {
    HEADROOM_TRY(range, backend_->reserve_range(std::uint64_t{limits_.pages} * page_bytes));
    if (range % page_bytes != 0)
      return Error{Errc::invalid, fmt::format("range {:#x} is not aligned to 2 MiB", range), ""};
  }
  std::array<std::uint64_t, range_count> sorted = ranges_;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < range_count; ++i) {
    if (sorted.at(i) - sorted.at(i - 1) < std::uint64_t{limits_.pages} * page_bytes)
      return Error{Errc::invalid, fmt::format("ranges overlap at {:#x}", sorted.at(i)), ""};
  }
  return Done{};
}

Status SelfTestBench::create_pages(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    HEADROOM_TRY(pages_.emplace_back(), backend_->create_pages(1));
  }
  return Done{};
}

Status SelfTestBench::destroy_pages() {
  for (const PageHandle page : pages_) HEADROOM_CHECK(backend_->destroy_pages(page));
  pages_.clear();
  return Done{};
}

Status SelfTestBench::map(std::uint64_t address, std::size_t page) {
  HEADROOM_CHECK(backend_->map(address, pages_.at(page)));
  mapped_[address] = page;
  return Done{};
}

Status SelfTestBench::open(std::uint64_t address, std::size_t count) {
  HEADROOM_CHECK(backend_->allow_access(address, count * page_bytes));
  device_->pause(settle_ns_);
  return Done{};
}

Status SelfTestBench::place(std::uint64_t address, std::size_t first, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) HEADROOM_CHECK(map(address + i * page_bytes, first + i));
  return open(address, count);
}

Status SelfTestBench::unmap(std::uint64_t address) {
  HEADROOM_CHECK(backend_->unmap(address));
  mapped_.erase(address);
  return Done{};
}

Status SelfTestBench::unmap_all() {
  while (!mapped_.empty()) HEADROOM_CHECK(unmap(mapped_.begin()->first));
  return Done{};
}

std::uint64_t SelfTestBench::seed_of(std::uint64_t address, std::uint64_t round) const {
  return mix((round << 32U) + mapped_.at(address) + 1);
}

void SelfTestBench::make_pattern(std::uint64_t address, std::uint64_t round) {
  const std::uint64_t seed = seed_of(address, round);
  for (std::size_t i = 0; i < page_words; ++i) expected_[i] = seed + i * 0x9e3779b97f4a7c15U;
}

Status SelfTestBench::compare(std::uint64_t read_from, std::uint64_t address, std::size_t words) {
  const std::span<std::uint64_t> found = std::span(read_).first(words);
  HEADROOM_CHECK(device_->read(read_from, found));
  const std::span<const std::uint64_t> expected = std::span(expected_).first(words);
  if (std::equal(found.begin(), found.end(), expected.begin())) return Done{};
  return Error{Errc::io,
               fmt::format("page {} at {:#x}: {}", mapped_.at(address), address,
                           difference(expected, found)),
               ""};
}

Status SelfTestBench::write(std::uint64_t address, std::uint64_t round) {
  make_pattern(address, round);
  return device_->write(address, expected_);
}

Status SelfTestBench::verify(std::uint64_t address, std::uint64_t round) {
  make_pattern(address, round);
  return compare(address, address, page_words);
}

Status SelfTestBench::fill(std::uint64_t address, std::uint64_t round) {
  return device_->fill(address, page_bytes, static_cast<std::uint32_t>(seed_of(address, round)));
}

Status SelfTestBench::verify_fill(std::uint64_t address, std::uint64_t round) {
  const std::uint64_t word = static_cast<std::uint32_t>(seed_of(address, round));
  std::fill(expected_.begin(), expected_.end(), (word << 32U) | word);
  return compare(address, address, page_words);
}

Status SelfTestBench::write_start(std::uint64_t address, std::uint64_t round) {
  make_pattern(address, round);
  return device_->write(address, std::span(expected_).first(start_words));
}

Status SelfTestBench::verify_start(std::uint64_t address, std::uint64_t round) {
  make_pattern(address, round);
  return compare(address, address, start_words);
}

Status SelfTestBench::verify_copy(std::uint64_t address, std::uint64_t round,
                                  std::uint64_t scratch) {
  HEADROOM_CHECK(device_->copy(scratch, address, page_bytes));
  make_pattern(address, round);
  return compare(scratch, address, page_words);
}

Status SelfTestBench::write_all(std::uint64_t round) {
  for (const auto& [address, page] : mapped_) HEADROOM_CHECK(write(address, round));
  return Done{};
}

Status SelfTestBench::verify_all(std::uint64_t round) {
  for (const auto& [address, page] : mapped_) HEADROOM_CHECK(verify(address, round));
  return Done{};
}

}  // namespace headroom::allocator
