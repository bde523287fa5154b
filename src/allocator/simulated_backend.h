// SPDX-License-Identifier: Apache-2.0
// A device that only counts: pages and addresses are numbers, no memory is touched. Estimates and
// replays run on it, at any size. There is no work that could finish by itself, so an event passes
// when its stream has been waited for. It checks the whole contract of Backend, so that code that
// breaks the contract is caught here and not on a GPU.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "allocator/backend.h"
#include "allocator/page_table.h"
#include "allocator/plain_table.h"

namespace headroom::allocator {

class SimulatedBackend final : public Backend {
 public:
  static constexpr std::uint64_t default_page_limit = std::uint64_t{1} << 25U;  // 64 TiB.

  // `page_limit`: the device's size; creating a page beyond it is out_of_memory.
  explicit SimulatedBackend(std::uint64_t page_limit = default_page_limit)
      : SimulatedBackend(page_limit, assumed_capabilities()) {}
  // A device with exactly these capabilities.
  SimulatedBackend(std::uint64_t page_limit, const Capabilities& capabilities)
      : page_limit_(page_limit), capabilities_(capabilities) {}

  // All capabilities, with the costs of assumed_costs.h.
  static Capabilities assumed_capabilities();
  static Capabilities without_virtual_memory();

  const Capabilities& capabilities() const override { return capabilities_; }

  Result<std::uint64_t> reserve_range(std::uint64_t bytes) override;
  Result<PageHandle> create_pages(std::uint32_t count) override;
  Status destroy_pages(PageHandle pages) override;
  Status map(std::uint64_t address, PageHandle pages) override;
  Status allow_access(std::uint64_t address, std::uint64_t bytes) override;
  Status unmap(std::uint64_t address) override;
  Result<std::uint64_t> allocate(std::uint64_t bytes) override;
  Status release(std::uint64_t address) override;
  void bind_stream(StreamId stream, std::uintptr_t native) override;
  Status wait_for(StreamId stream) override;
  Result<EventId> record(StreamId stream) override;
  Result<bool> passed(EventId event) override;

  const PageTable& table() const { return table_; }

 private:
  Status check_virtual_memory() const;
  Status check_free_pages(std::uint64_t pages) const;

  std::uint64_t page_limit_;
  Capabilities capabilities_;
  PlainTable plain_;
  EventId last_event_ = 0;
  std::unordered_map<EventId, StreamId> events_;  // Events that were recorded and have not passed.
  // The last event at the time of the stream's last wait.
  std::unordered_map<StreamId, EventId> waited_;
  std::uint64_t next_address_ = std::uint64_t{1} << 32U;
  PageTable table_;
};

}  // namespace headroom::allocator
