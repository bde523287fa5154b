// SPDX-License-Identifier: Apache-2.0
// A device that only counts: pages and addresses are numbers, no memory is touched. Estimates and
// replays run on it, at any size. It keeps the whole contract of Backend, so that what breaks it is
// found here and not on a GPU.
#pragma once

#include <cstdint>

#include "allocator/backend.h"
#include "allocator/page_table.h"

namespace headroom::allocator {

class SimulatedBackend final : public Backend {
 public:
  static constexpr std::uint64_t default_page_limit = std::uint64_t{1} << 25U;  // 64 TiB.

  // `page_limit`: the device's size; creating a page beyond it is out_of_memory.
  explicit SimulatedBackend(std::uint64_t page_limit = default_page_limit)
      : page_limit_(page_limit) {}

  Result<std::uint64_t> reserve_range(std::uint64_t bytes) override;
  Result<PageHandle> create_page() override;
  Status destroy_page(PageHandle page) override;
  Status map(std::uint64_t address, PageHandle page) override;
  Status unmap(std::uint64_t address) override;
  Status wait_for(StreamId stream) override;

  const PageTable& table() const { return table_; }

 private:
  std::uint64_t page_limit_;
  std::uint64_t next_address_ = std::uint64_t{1} << 32U;
  PageTable table_;
};

}  // namespace headroom::allocator
