// SPDX-License-Identifier: Apache-2.0
// What the steps of the self-test share: pages with known contents, a record of where each is
// mapped, and checks of their contents.
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

  // How long open() waits, once that has been measured.
  std::uint64_t settle_ns() const { return settle_ns_; }
  void set_settle_ns(std::uint64_t ns) { settle_ns_ = ns; }

  // There are address ranges for three times all pages.
  static constexpr std::size_t range_count = 3;
  Status reserve();
  std::uint64_t at(std::size_t range, std::size_t position) const {
    return ranges_.at(range) + position * page_bytes;
  }

  Status create_pages(std::size_t count);
  Status destroy_pages();  // Destroys all of them; none may be mapped.
  std::size_t pages() const { return pages_.size(); }

  // Maps one of the created pages, by its number.
  Status map(std::uint64_t address, std::size_t page);
  // Allows access to `count` pages from `address` on, and waits until the memory has settled.
  Status open(std::uint64_t address, std::size_t count);
  // Maps pages first, first + 1, … from `address` on and opens them all in one call.
  Status place(std::uint64_t address, std::size_t first, std::size_t count);
  Status unmap(std::uint64_t address);
  Status unmap_all();

  // Write and check the whole page that is mapped at the address. Each page has a pattern of its
  // own in each round. verify() fails with what it found instead.
  Status write(std::uint64_t address, std::uint64_t round);
  Status verify(std::uint64_t address, std::uint64_t round);
  // The device itself fills the whole page with one word, as its kernels would write it.
  Status fill(std::uint64_t address, std::uint64_t round);
  Status verify_fill(std::uint64_t address, std::uint64_t round);
  // Like write() and verify(), but only for the page's first words, which is quick.
  Status write_start(std::uint64_t address, std::uint64_t round);
  Status verify_start(std::uint64_t address, std::uint64_t round);
  // Checks the whole page through the device's own copy into `scratch`, which is 2 MiB of plain
  // memory.
  Status verify_copy(std::uint64_t address, std::uint64_t round, std::uint64_t scratch);
  Status write_all(std::uint64_t round);  // Writes every mapped page.
  Status verify_all(std::uint64_t round);

 private:
  std::uint64_t seed_of(std::uint64_t address, std::uint64_t round) const;
  void make_pattern(std::uint64_t address, std::uint64_t round);
  // Compares the words with expected_.
  Status compare(std::uint64_t read_from, std::uint64_t address, std::size_t words);

  Backend* backend_;
  DeviceAccess* device_;
  SelfTestLimits limits_;
  std::uint64_t started_ns_;
  std::uint64_t settle_ns_ = 0;
  std::array<std::uint64_t, range_count> ranges_{};
  std::vector<PageHandle> pages_;
  std::map<std::uint64_t, std::size_t> mapped_;  // Address → page number.
  std::vector<std::uint64_t> expected_;          // The words of one page.
  std::vector<std::uint64_t> read_;
};

}  // namespace headroom::allocator
