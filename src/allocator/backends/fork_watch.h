// SPDX-License-Identifier: Apache-2.0
// Says whether this process is the one that made it, at the cost of reading a word: one that the
// kernel clears in a forked child (madvise(2), MADV_WIPEONFORK).
#pragma once

#include <cstdint>

namespace headroom::allocator {

class ForkWatch {
 public:
  ForkWatch();
  ~ForkWatch();
  ForkWatch(const ForkWatch&) = delete;
  ForkWatch& operator=(const ForkWatch&) = delete;

  // 0 in a forked child. Null where the kernel does not offer it.
  const std::uint64_t* alive() const { return alive_; }

 private:
  std::uint64_t* alive_ = nullptr;
};

}  // namespace headroom::allocator
