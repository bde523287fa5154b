// SPDX-License-Identifier: Apache-2.0
// Reads a file's header in order, through a small window, and passes over what is not wanted. The
// first thing that is wrong is remembered; everything read after it is zero or empty, so that a
// reader asks once in a while instead of after every number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random_access.h"
#include "base/result.h"

namespace headroom::estimate {

class Cursor {
 public:
  // Reads `bytes`, which must outlive it, from the start up to `end` at most. `text_limit` bounds
  // what all calls of read_text return together: what a reader keeps of a file is never more than
  // a small multiple of it.
  Cursor(const RandomAccess& bytes, std::uint64_t end, std::uint64_t text_limit);

  bool ok() const { return !problem_; }
  // Requires: !ok().
  const Error& problem() const { return *problem_; }
  // Remembers what is wrong, unless something is already.
  void fail(std::string message, std::string next);

  std::uint64_t position() const { return position_; }
  std::uint64_t end() const { return end_; }
  std::uint64_t left() const { return end_ - position_; }
  bool at_end() const { return !ok() || position_ == end_; }

  // The next `count` bytes, at most 8, as a number.
  std::uint64_t read_number(std::uint32_t count, bool big_endian = false);
  // Fails on more than `max`, with `what` as its name.
  std::string read_text(std::uint64_t length, std::uint64_t max, const char* what);
  void skip(std::uint64_t count);

  // A part of a given length is read as if the file ended with it: until leave(), at_end() is its
  // end. enter() returns what leave() takes.
  std::uint64_t enter(std::uint64_t length);
  void leave(std::uint64_t outer_end);  // Passes over what was not read of the part.

 private:
  void cut_off();
  bool available(std::uint64_t count);  // Fails, as cut off, if there are fewer.
  bool fill(char* out, std::uint64_t count);

  const RandomAccess& bytes_;
  std::uint64_t position_ = 0;
  std::uint64_t end_;
  std::uint64_t text_left_;
  std::vector<char> window_;
  std::uint64_t window_start_ = 0;
  std::optional<Error> problem_;
};

}  // namespace headroom::estimate
