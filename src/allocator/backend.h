// SPDX-License-Identifier: Apache-2.0
// The seam between the allocator's core and memory. Physical pages and addresses are separate
// things: a backend reserves address ranges, creates physical pages of page_bytes each, and maps
// one at an address. Host memory, GPUs and counting fakes are backends; one conformance suite runs
// over all of them.
#pragma once

#include <cstdint>

#include "allocator/policy.h"
#include "base/result.h"

namespace headroom::allocator {

inline constexpr std::uint64_t page_bytes = std::uint64_t{2} << 20U;

using PageHandle = std::uint32_t;

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  // An unused address range, aligned to page_bytes; `bytes` is a multiple of it. The backend owns
  // the range and gives it back when it is destroyed.
  virtual Result<std::uint64_t> reserve_range(std::uint64_t bytes) = 0;

  // A physical page; destroying it gives the memory back. Requires for destroy: it is mapped
  // nowhere.
  virtual Result<PageHandle> create_page() = 0;
  virtual Status destroy_page(PageHandle page) = 0;

  // Requires: `address` lies in a reserved range, is aligned, and nothing is mapped there; `page`
  // is mapped nowhere else (HIP allows one address per handle). The page's contents follow the
  // handle.
  virtual Status map(std::uint64_t address, PageHandle page) = 0;

  // Requires: exactly one page is mapped at `address`. The range stays reserved.
  virtual Status unmap(std::uint64_t address) = 0;

  // Returns when no work queued on the stream so far can touch memory any more. Called before pages
  // that such work may use are unmapped, or given to another stream. A backend whose work is done
  // when its calls return has nothing to wait for.
  virtual Status wait_for(StreamId stream) = 0;
};

}  // namespace headroom::allocator
