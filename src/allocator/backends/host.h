// SPDX-License-Identifier: Apache-2.0
// Host memory as a device: one memfd holds all pages, a handle is its offset in 2 MiB, and mapping
// is mmap(MAP_FIXED) of that offset over a reserved range. So the whole allocator runs, and its
// contents can be checked, without a GPU.
//
// A page is filled with zeros when it is created, so that missing memory is an Error at that moment
// and not a signal at the first touch. HostMemory is asked first, slice by slice, because the
// kernel grants memory that it does not have. Destroying a page punches a hole in the file.
//
// Fork: a child does not have the pages (MADV_DONTFORK), because writes to shared pages would reach
// the parent; touching a block there is a segmentation fault, and calls are refused. fork + exec
// works.
//
// Not thread-safe: the allocator's lock protects it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "allocator/backend.h"
#include "allocator/backends/host_memory.h"
#include "allocator/page_table.h"
#include "allocator/plain_table.h"
#include "machine/fork_guard.h"

namespace headroom::allocator {

class HostBackend final : public Backend {
 public:
  // A system whose limit on mappings is too low for virtual memory can turn it off.
  enum class VirtualMemory : std::uint8_t { on, off };
  static Result<std::unique_ptr<HostBackend>> create(
      VirtualMemory virtual_memory = VirtualMemory::on);
  // Asks `memory` instead of this machine.
  static Result<std::unique_ptr<HostBackend>> create(VirtualMemory virtual_memory,
                                                     HostMemory memory);
  ~HostBackend() override;

  const Capabilities& capabilities() const override { return capabilities_; }
  const std::uint64_t* alive() const override {
    return fork_guard_ ? fork_guard_->word() : nullptr;
  }
  Result<std::uint64_t> reserve_range(std::uint64_t bytes) override;
  Result<PageHandle> create_pages(std::uint32_t count) override;
  Status destroy_pages(PageHandle pages) override;
  Status map(std::uint64_t address, PageHandle pages) override;
  Status allow_access(std::uint64_t address, std::uint64_t bytes) override;
  Status unmap(std::uint64_t address) override;
  // Takes anonymous memory, not pages of the memory file.
  Result<std::uint64_t> allocate(std::uint64_t bytes) override;
  Status release(std::uint64_t address) override;
  void bind_stream(StreamId stream, std::uintptr_t native) override;
  Status wait_for(StreamId stream) override;
  Result<EventId> record(StreamId stream) override;
  Result<bool> passed(EventId event) override;

  // How much memory the kernel counts for the memory file: its pages without the holes.
  Result<std::uint64_t> held_bytes() const;

 private:
  HostBackend(int file, int owner, HostMemory memory)
      : file_(file), owner_(owner), memory_(std::move(memory)) {}
  Status check_owner() const;
  Status check_virtual_memory() const;
  Status grow_file(std::uint64_t pages);
  bool punch(PageHandle first, std::uint32_t count) const;
  // Takes `bytes` slice by slice, calling take(offset, bytes) for each slice that the machine
  // grants.
  using TakeSlice = std::function<Status(std::uint64_t offset, std::uint64_t bytes)>;
  Status take(std::uint64_t bytes, const TakeSlice& take_slice);

  int file_;
  int owner_;  // The process that created it.
  HostMemory memory_;
  Result<machine::ForkGuard> fork_guard_ = machine::ForkGuard::create();
  std::uint64_t file_pages_ = 0;
  PageTable table_;
  PlainTable plain_;
  Capabilities capabilities_ = {
      .virtual_memory = true, .destroy_returns_memory = true, .several_pages_per_handle = true};
};

}  // namespace headroom::allocator
