// SPDX-License-Identifier: Apache-2.0
// Which parts of a rank's arena are in use: first fit, with multiples of a page. Only that rank
// knows; the others get offsets. Any thread may call any function.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/mutex.h"

namespace headroom::averager {

class Arena {
 public:
  explicit Arena(std::uint64_t bytes) : bytes_(bytes) {}

  // Returns the offset, or nothing if no free part is large enough.
  std::optional<std::uint64_t> take(std::uint64_t bytes);
  // Returns whether a part in use began there.
  bool give_back(std::uint64_t offset);
  // Whether these bytes lie in one part in use.
  bool holds(std::uint64_t offset, std::uint64_t bytes) const;
  std::uint64_t largest_free() const;

 private:
  mutable Mutex mutex_;
  std::uint64_t bytes_;
  std::map<std::uint64_t, std::uint64_t> used_ HEADROOM_GUARDED_BY(mutex_);  // Offset to its end.
};

}  // namespace headroom::averager
