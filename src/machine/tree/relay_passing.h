// SPDX-License-Identifier: Apache-2.0
// What the threads of a relay share, and what they do. It outlives the relay as long as a thread is
// stuck in a write that nobody takes.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/mutex.h"
#include "machine/descriptor.h"
#include "machine/tree/read_along.h"
#include "machine/tree/relay.h"

namespace headroom::machine {

class RelayPassing {
 public:
  // `reading` does not wait when it is read; `target` is borrowed.
  RelayPassing(Descriptor reading, int target, Relay::Reader reader);
  Status prepare();  // Before anything else.

  // One thread each, to the end of the stream.
  void pass_on();
  void read_along();

  // read_along() returns after the piece that it is at. Once its thread has ended, read_rest()
  // reads to the end on the caller's: without privileges a thread of low priority cannot raise it
  // again, and where others take all processors it would keep whoever waits for the end waiting.
  void hand_over() { is_handed_over_ = true; }
  void read_rest();

  void stop_reading();  // What is there now is the last.
  void stop_telling() { ring_.abandon(); }
  void abandon();  // Nothing more is written.
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  bool is_in_line() const { return is_in_line_.load(std::memory_order_relaxed); }
  int done() const { return done_.get(); }  // Readable once pass_on() has nothing more to do.
  bool has_ended() const { return has_ended_.load(); }
  std::optional<Error> problem() const;
  // Gives the command's terminal the size of ours; whether it had another one.
  bool copy_window_size();

 private:
  enum class Next { some, ended, left };
  Next read_some(std::span<char> space, std::size_t& count);
  Next wait_for_some();
  bool write_out(std::string_view piece);

  bool read_piece(char* buffer);
  void close_reading();

  Descriptor reading_;  // Closed by one thread, under the lock.
  const int target_;
  const Relay::Reader reader_;
  ReadAlong ring_;
  Descriptor stop_;  // Event of stop_reading() and abandon().
  Descriptor done_;
  bool breaks_ = false;     // `target` is a pipe or a socket, whose reader may go away.
  bool is_writing_ = true;  // False once writing has failed: then there is the reader alone.
  bool was_told_ = false;   // To stop reading.
  std::atomic<bool> is_handed_over_{false};
  std::atomic<bool> is_abandoned_{false};
  std::atomic<bool> has_ended_{false};
  std::atomic<bool> is_in_line_{false};
  std::atomic<std::uint64_t> bytes_{0};
  mutable Mutex mutex_;
  std::optional<Error> problem_ HEADROOM_GUARDED_BY(mutex_);
};

}  // namespace headroom::machine
