// SPDX-License-Identifier: Apache-2.0
#include "machine/remove_tree.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>

#include "machine/descriptor.h"
#include "machine/each_name.h"

namespace headroom::machine {
namespace {

// A file, a link or an empty folder; or it was not there.
bool remove_one(int folder, const char* name) {
  if (::unlinkat(folder, name, 0) == 0 || errno == ENOENT) return true;
  return ::unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

int open_beneath(int folder, const char* name) {
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  return static_cast<int>(::syscall(SYS_openat2, folder, name, &how, sizeof how));
}

// Empties one folder. Folders within folders are not descended into, which would take a descriptor
// for each: they are moved up to the top, until every folder there is empty or holds only files.
class Emptying {
 public:
  explicit Emptying(int top) : top_(top) {}

  bool run() {
    for (;;) {
      bool any = false;
      bool progress = false;
      each_name(top_, [&](const char* name) {
        any = true;
        if (remove(name)) progress = true;
      });
      if (!any) return true;
      if (!progress) return false;
    }
  }

 private:
  // Whether there is less of it than before.
  bool remove(const char* name) {
    if (remove_one(top_, name)) return true;
    const Descriptor folder(open_beneath(top_, name));
    if (folder.get() < 0) return errno == ENOENT;
    bool progress = false;
    each_name(folder.get(), [&](const char* inner) {
      if (remove_one(folder.get(), inner) || move_up(folder.get(), inner)) progress = true;
    });
    return remove_one(top_, name) || progress;
  }

  bool move_up(int folder, const char* name) {
    constexpr int tries_max = 1000;  // A name may be taken by what was there before.
    for (int tries = 0; tries < tries_max; ++tries) {
      std::array<char, 32> moved{'.', 'u', 'p', '-'};
      std::to_chars(moved.data() + 4, moved.data() + moved.size() - 1, moved_++);
      if (::renameat(folder, name, top_, moved.data()) == 0) return true;
      if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) return errno == ENOENT;
    }
    return false;
  }

  int top_;
  std::uint64_t moved_ = 0;
};

}  // namespace

bool remove_tree(int folder, const char* name) {
  if (remove_one(folder, name)) return true;
  {
    const Descriptor top(::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (top.get() < 0) return errno == ENOENT;
    if (!Emptying(top.get()).run()) return false;
  }
  return remove_one(folder, name);
}

}  // namespace headroom::machine
