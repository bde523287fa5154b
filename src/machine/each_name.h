// SPDX-License-Identifier: Apache-2.0
// The names in an open folder by system calls alone, for a forked child that must not ask for
// memory; everybody else has each_entry.h.
#pragma once

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>

namespace headroom::machine {

// Calls visit(name) for each name but "." and "..", in no order, beginning with the first. What is
// added or removed meanwhile may be visited or not.
template <class Visit>
void each_name(int folder, const Visit& visit) {
  ::lseek(folder, 0, SEEK_SET);
  // 64-bit glibc's dirent is what getdents64 writes (getdents64(2)).
  alignas(dirent) std::array<char, 8192> buffer;
  for (;;) {
    const long length = ::syscall(SYS_getdents64, folder, buffer.data(), buffer.size());
    if (length <= 0) return;
    for (long at = 0; at < length;) {
      const auto* entry = reinterpret_cast<const dirent*>(buffer.data() + at);
      at += entry->d_reclen;
      const char* name = &entry->d_name[0];
      const bool itself = name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0));
      if (!itself) visit(name);
    }
  }
}

}  // namespace headroom::machine
