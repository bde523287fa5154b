// SPDX-License-Identifier: Apache-2.0
// Tells a process from the children that it forked, at the price of reading one word: a page that
// the kernel gives to children as zeros (MADV_WIPEONFORK, Linux 4.14).
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"

namespace headroom::machine {

// Any thread may call any function.
class ForkGuard {
 public:
  static Result<ForkGuard> create();

  // False in a forked child, and in its children.
  bool is_owner() const { return *word_ != 0; }
  // What it reads: 0 there. It lives as long as the guard, wherever that is moved to.
  const std::uint64_t* word() const { return word_.get(); }

 private:
  struct Unmap {
    void operator()(const std::uint64_t* page) const;
  };
  explicit ForkGuard(const std::uint64_t* page) : word_(page) {}

  std::unique_ptr<const std::uint64_t, Unmap> word_;
};

}  // namespace headroom::machine
