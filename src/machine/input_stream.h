// SPDX-License-Identifier: Apache-2.0
// Bytes that come in pieces, for as long as they come: a file, standard input, or what another
// program writes (journalctl -f, docker logs -f).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/descriptor.h"

namespace headroom::machine {

class InputStream {
 public:
  // "-" is standard input. Fails if it cannot be opened or is a folder.
  static Result<InputStream> open(const std::string& path);
  // Starts argv[0] (looked up in PATH) with its standard output and error as this stream, and
  // without a signal held back; it is ended with SIGTERM when the stream goes. Fails if it cannot
  // be started.
  static Result<InputStream> from_program(const std::vector<std::string>& argv);

  InputStream(InputStream&& other) noexcept;
  InputStream& operator=(InputStream&&) = delete;
  ~InputStream();

  enum class State {
    data,
    quiet,  // Nothing came within the time; more may come.
    end,
  };
  struct Piece {
    State state = State::end;
    std::size_t size = 0;
  };
  // Waits up to `patience`; a file never waits. Fails on an I/O error.
  Result<Piece> read(std::span<char> buffer, std::chrono::milliseconds patience);

  // More may come later: a pipe, a terminal, a program. Not so a file.
  bool is_live() const { return is_live_; }
  // Requires: read() said `end`. Waits for the program to end; its exit status, 128 + the number of
  // the signal that ended it, or 0 where there is no program.
  int wait_for_exit();

 private:
  InputStream(Descriptor descriptor, std::string name, bool is_live, pid_t child)
      : descriptor_(std::move(descriptor)),
        name_(std::move(name)),
        is_live_(is_live),
        child_(child) {}

  Descriptor descriptor_;
  std::string name_;
  bool is_live_ = false;
  pid_t child_ = 0;
};

}  // namespace headroom::machine
