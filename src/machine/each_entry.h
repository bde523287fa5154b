// SPDX-License-Identifier: Apache-2.0
// The names in an open folder, one after the other.
#pragma once

#include <dirent.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "machine/descriptor.h"

namespace headroom::machine {

// Calls visit(descriptor of the folder, entry) for each name but "." and "..", in no order. Returns
// an errno, or 0.
template <class Visit>
int each_entry(Descriptor folder, Visit visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(folder.get()), ::closedir);
  if (!entries) return errno;
  const int fd = folder.release();
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(entries.get());  // NOLINT(concurrency-mt-unsafe): own stream.
    if (entry == nullptr) return errno;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") visit(fd, *entry);
  }
}

}  // namespace headroom::machine
