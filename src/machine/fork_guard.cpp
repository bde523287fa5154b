// SPDX-License-Identifier: Apache-2.0
#include "machine/fork_guard.h"

#include <sys/mman.h>

#include <cerrno>

#include "machine/os_error.h"

namespace headroom::machine {

void ForkGuard::Unmap::operator()(const std::uint64_t* page) const {
  ::munmap(const_cast<std::uint64_t*>(page), sizeof *page);
}

Result<ForkGuard> ForkGuard::create() {
  void* page = ::mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return os_error(errno, "taking a page to tell forked children by");
  auto* word = static_cast<std::uint64_t*>(page);
  *word = 1;
  ForkGuard guard(word);
  if (::madvise(page, sizeof(std::uint64_t), MADV_WIPEONFORK) != 0)
    return os_error(errno, "guarding a page against forks (needs Linux 4.14)");
  return guard;
}

}  // namespace headroom::machine
