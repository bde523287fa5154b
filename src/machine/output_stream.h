// SPDX-License-Identifier: Apache-2.0
// Standard output or standard error as this process was given it: closed, full, non-blocking or a
// pipe that nobody reads any more. Every byte is written, or what hindered it is remembered.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headroom::machine {

// Puts something harmless where descriptors 0, 1 or 2 are closed, so that no file opened later
// lands there and gets what is printed. To be called before anything is opened.
struct StandardDescriptors {
  bool output_was_closed = false;
  bool errors_were_closed = false;
};
StandardDescriptors fill_standard_descriptors();

class OutputStream {
 public:
  // Does not own the descriptor. `was_closed`: nothing can be written, whatever is there now.
  OutputStream(int fd, bool was_closed) : fd_(fd), was_closed_(was_closed) {}

  // All of it, or nothing more after a first failure. A pipe without a reader ends the process by
  // SIGPIPE, as it does for other programs, unless the stream was told to outlive it.
  void write(std::string_view bytes);
  // The kernel may have kept what it could not write in the end, as on a network's disk; asks.
  void flush();
  void outlive_broken_pipe() { outlives_ = true; }

  // Why not everything was written: "No space left on device".
  const std::optional<std::string>& problem() const { return problem_; }

 private:
  int fd_;
  bool was_closed_;
  bool outlives_ = false;
  bool has_written_ = false;
  std::optional<std::string> problem_;
};

}  // namespace headroom::machine
