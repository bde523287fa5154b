// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/fork_watch.h"

#include <sys/mman.h>

namespace headroom::allocator {

ForkWatch::ForkWatch() {
  void* word =
      ::mmap(nullptr, sizeof *alive_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (word == MAP_FAILED) return;
  if (::madvise(word, sizeof *alive_, MADV_WIPEONFORK) != 0) {
    ::munmap(word, sizeof *alive_);
    return;
  }
  alive_ = static_cast<std::uint64_t*>(word);
  *alive_ = 1;
}

ForkWatch::~ForkWatch() {
  if (alive_ != nullptr) ::munmap(alive_, sizeof *alive_);
}

}  // namespace headroom::allocator
