// SPDX-License-Identifier: Apache-2.0
// Passes what a command writes on, byte for byte and at the speed of a pipe, and lets somebody read
// along who may be slower: what the reader cannot keep up with is left out in the middle, and
// counted. Where ours is a terminal the command gets one too (a pseudo-terminal without processing).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"

namespace headroom::machine {

// A thread of its own passes on; another one calls the reader.
class Relay {
 public:
  // Called from one thread, pieces in order. `left_out`: so many bytes before this piece were not
  // kept. Stays valid until finish() has returned.
  using Reader = std::function<void(std::string_view piece, std::uint64_t left_out)>;

  // `target`: the descriptor that is written to; not owned. Writing fails with a pipe without a
  // reader: then the command's end is closed too, so that it notices as it would have without us.
  static Result<std::unique_ptr<Relay>> start(int target, Reader reader);
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  virtual ~Relay() = default;

  // What the command is to have as its stream. Close ours with close_source() once it is started.
  virtual int source() const = 0;
  virtual void close_source() = 0;
  virtual std::uint64_t bytes() const = 0;  // Passed on so far.
  // Waits until the command's end is closed by all who had it, all is written and read.
  virtual void finish() = 0;

 protected:
  Relay() = default;
};

}  // namespace headroom::machine
