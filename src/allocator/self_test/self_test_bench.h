// SPDX-License-Identifier: Apache-2.0
// What the steps of the self-test share: pages with known contents, where each is mapped, and how
// their contents are checked.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "allocator/backend.h"
#include "allocator/self_test/self_test.h"

namespace headroom::allocator {

class SelfTestBench {
 public:
  SelfTestBench(Backend& backend, DeviceAccess& device, const SelfTestLimits& limits);

  Backend& backend() { return *backend_; }
  DeviceAccess& device() { return *device_; }
  const SelfTestLimits& limits() const { return limits_; }
  bool out_of_time() { return device_->now_ns() - started_ns_ > limits_.max_ns; }

  // How long open() waits, once it is measured.
  std::uint64_t settle_ns() const { return settle_ns_; }
  void set_settle_ns(std::uint64_t ns) { settle_ns_ = ns; }

  // Addresses for all pages, three times over.
  static constexpr std::size_t range_count = 3;
  Status reserve();
  std::uint64_t at(std::size_t range, std::size_t position) const {
    return ranges_.at(range) + position * page_bytes;
  }

  Status create_pages(std::size_t count);
  Status destroy_pages();  // All of them; none may be mapped.
  std::size_t pages() const { return pages_.size(); }

  // One of the pages created, by its number.
  Status map(std::uint64_t address, std::size_t page);
  // Allows access to `count` pages from `address` on, and waits as long as memory settles.
  Status open(std::uint64_t address, std::size_t count);
  // All of it: maps pages first, first + 1, … from `address` on and opens them in one call.
  Status place(std::uint64_t address, std::size_t first, std::size_t count);
  Status unmap(std::uint64_t address);
  Status unmap_all();

  // The whole page that is mapped at the address. The pattern is the page's own, and differs from
  // that of every other round. verify() fails with what was found instead.
  Status write(std::uint64_t address, std::uint64_t round);
  Status verify(std::uint64_t address, std::uint64_t round);
  // Whole, filled by the device itself with one word, as its own kernels would write.
  Status fill(std::uint64_t address, std::uint64_t round);
  Status verify_fill(std::uint64_t address, std::uint64_t round);
  // As write() and verify(), of the page's first words only, which is quick.
  Status write_start(std::uint64_t address, std::uint64_t round);
  Status verify_start(std::uint64_t address, std::uint64_t round);
  // Whole, by way of the device's own copy into `scratch`, which is 2 MiB of plain memory.
  Status verify_copy(std::uint64_t address, std::uint64_t round, std::uint64_t scratch);
  Status write_all(std::uint64_t round);  // Of all that is mapped.
  Status verify_all(std::uint64_t round);

 private:
  std::uint64_t seed_of(std::uint64_t address, std::uint64_t round) const;
  void make_pattern(std::uint64_t address, std::uint64_t round);
  // Against what expected_ holds.
  Status compare(std::uint64_t read_from, std::uint64_t address, std::size_t words);

  Backend* backend_;
  DeviceAccess* device_;
  SelfTestLimits limits_;
  std::uint64_t started_ns_;
  std::uint64_t settle_ns_ = 0;
  std::array<std::uint64_t, range_count> ranges_{};
  std::vector<PageHandle> pages_;
  std::map<std::uint64_t, std::size_t> mapped_;  // Address → number of the page.
  std::vector<std::uint64_t> expected_;          // A page's words.
  std::vector<std::uint64_t> read_;
};

}  // namespace headroom::allocator
