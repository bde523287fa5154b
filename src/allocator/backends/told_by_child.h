// SPDX-License-Identifier: Apache-2.0
// A child process of ours that does what may hang or end it, and what it tells us meanwhile. What
// it told before it was ended is not lost.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headroom::allocator {

// What the child's work tells by. It may be used until the work returns.
class Teller {
 public:
  explicit Teller(int fd) : fd_(fd) {}
  // One line, without its end. Less than a pipe holds in all: nobody reads meanwhile, and what no
  // longer fits is lost.
  void tell(std::string_view line) const;

 private:
  int fd_;
};

struct ToldByChild {
  Status ended;      // As machine::call_bounded says.
  std::string told;  // The lines.
  // The last line that the child wrote to standard output or standard error: drivers say there what
  // they die of. Empty where it wrote none. Nothing of it is seen otherwise.
  std::string last_words;
};

// Does `work` in a child, which ends with us, whatever we die of, and leaves no core file. Fails
// where no child could be made ready. Requires: this process has one thread.
Result<ToldByChild> ask_child(const std::function<Status(const Teller&)>& work,
                              std::uint64_t timeout_ms, const std::string& doing);

}  // namespace headroom::allocator
