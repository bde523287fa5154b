// SPDX-License-Identifier: Apache-2.0
// The physical pages of one allocator: creates them up to the capacity, keeps the unmapped ones,
// and counts what the device was asked. All calls to the Backend go through here. A page is not
// destroyed before the pool is: on ROCm that would not return the memory while the address range is
// reserved, and re-mapping is cheaper anyway.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/backend.h"

namespace headroom::allocator {

class PagePool {
 public:
  // `backend` outlives the pool.
  PagePool(Backend& backend, std::uint64_t capacity_pages)
      : backend_(&backend), capacity_pages_(capacity_pages) {}
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  Result<std::uint64_t> reserve_range(std::uint64_t bytes);

  // Maps an unmapped page, or a new one, at `address`. Fails with the backend's words, or with
  // out_of_memory at the capacity; the page is then still in the pool.
  Result<PageHandle> map(std::uint64_t address);
  // Once for a stretch of pages mapped since; before anything touches them.
  Status allow_access(std::uint64_t address, std::uint64_t bytes);
  // Takes the page at `address` back. On failure it stays mapped.
  Status unmap(std::uint64_t address, PageHandle page);
  Status wait_for(StreamId stream);

  // Pages that can still be mapped: unmapped ones, and new ones up to the capacity. Once the
  // backend refused a new page, only the unmapped ones, until retry_creation().
  std::uint64_t spare() const;
  void retry_creation() { refused_ = false; }

  // These mapped pages can never be used again.
  void lose(std::uint64_t pages) { lost_ += pages; }
  std::uint64_t lost() const { return lost_; }

  std::uint64_t created() const { return created_; }
  std::uint64_t unmapped() const { return unmapped_.size(); }
  std::uint64_t capacity_pages() const { return capacity_pages_; }
  std::uint64_t device_calls() const { return device_calls_; }
  std::uint64_t device_ns() const { return device_ns_; }

  // The backend's last refusal, if there was any.
  const std::optional<Error>& last_error() const { return last_error_; }

 private:
  template <class T>
  Result<T> noted(Result<T> result, std::uint32_t cost);
  const CallCosts& costs() const { return backend_->capabilities().costs; }

  Backend* backend_;
  std::uint64_t capacity_pages_;
  std::uint64_t created_ = 0;
  std::uint64_t lost_ = 0;
  std::vector<PageHandle> unmapped_;
  std::uint64_t device_calls_ = 0;
  std::uint64_t device_ns_ = 0;
  bool refused_ = false;
  std::optional<Error> last_error_;
};

}  // namespace headroom::allocator
