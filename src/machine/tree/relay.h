// SPDX-License-Identifier: Apache-2.0
// Passes what a command writes on, byte for byte and at the speed of a pipe, and lets somebody read
// along who may be slower: what the reader cannot keep up with is left out in the middle, and
// counted. Where ours is a terminal the command gets one too (a pseudo-terminal without
// processing).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace headroom::machine {

// A thread of its own passes on; another one, of low priority, calls the reader; what it has not
// read when finish() is called, that thread reads.
class Relay {
 public:
  // Called from one thread at a time, pieces in order. `left_out`: so many bytes before this piece
  // were not kept. Stays valid until finish() has returned or the relay is destroyed.
  using Reader = std::function<void(std::string_view piece, std::uint64_t left_out)>;

  // `target`: the descriptor that is written to; not owned, open until the relay is destroyed.
  // Writing fails with a pipe without a reader: then the command's end is closed too, so that it
  // notices as it would have without us. Any other failure is kept (problem()), and the command
  // goes on without being heard, by the reader excepted. May be not open: then there is only the
  // reader. Fails where the system has no more descriptors or threads.
  static Result<std::unique_ptr<Relay>> start(int target, Reader reader);
  // Whether both are the same terminal, pipe, socket or opened file ("2>&1"): then one relay to the
  // first serves both streams, which come in the order they were written in.
  static bool is_same_target(int one, int other);

  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  // Does not wait: what was not passed on is lost. Call finish() first.
  virtual ~Relay() = default;

  // What the command is to have as its stream. Close ours with close_source() once it is started,
  // since the stream cannot end before.
  virtual int source() const = 0;
  virtual void close_source() = 0;
  virtual bool is_terminal() const = 0;
  virtual std::uint64_t bytes() const = 0;  // Passed on so far.
  // The last line that was passed on has no end yet.
  virtual bool is_in_line() const = 0;

  // Becomes readable once everything is passed on, or nothing more can be: finish() then only waits
  // for the reader.
  virtual int descriptor() const = 0;
  // What the command and whoever holds its end have written by now is the last that is passed on:
  // for a process that cannot be ended. Does not wait.
  virtual void stop_reading() = 0;
  // Waits until the command's end is closed by all who had it, all is written and read. With
  // `timeout_ms`, those who hold it are waited for so long only, then comes stop_reading(). Whoever
  // reads from `target` is waited for as long as it takes, as the command would have had to;
  // abandon() ends that. Returns false if the stream had not ended.
  virtual bool finish(std::optional<std::uint64_t> timeout_ms = std::nullopt) = 0;
  // The reader is called no more; what it is at, it ends. All is passed on as before. Does not
  // wait.
  virtual void stop_telling() = 0;
  // Whatever is not written by now stays unwritten. Does not wait; the reader is called no more.
  virtual void abandon() = 0;
  // Why not everything could be written ("No space left on device"). Nothing if all was, and where
  // the reader of a pipe went away.
  virtual std::optional<Error> problem() const = 0;
  // Copies the size of the terminal to the command's; returns whether it had changed. To be called
  // on SIGWINCH, after which the command wants that signal once more if it had.
  virtual bool copy_window_size() = 0;

 protected:
  Relay() = default;
};

}  // namespace headroom::machine
