// SPDX-License-Identifier: Apache-2.0
// A ring between one thread that must never wait and another that reads along: what the reader has
// not read when the space is needed again is left out, the oldest first, and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/mutex.h"

namespace headroom::machine {

class ReadAlong {
 public:
  explicit ReadAlong(std::size_t capacity);

  // Where the next bytes go, at most `wanted`, in one piece. Nothing of it is read until commit().
  std::span<char> reserve(std::size_t wanted);
  // The first `count` of what was reserved last are there.
  void commit(std::size_t count);
  void close();  // No more comes.
  // Nothing more is read either; what is being read is the last.
  void abandon();

  // Copies the next bytes into `into`, and how many before them were left out. Waits for some;
  // empty only once it is closed and all was read.
  std::string_view read(std::span<char> into, std::uint64_t& left_out);

 private:
  const std::size_t capacity_;
  const std::unique_ptr<char[]> ring_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::uint64_t written_ HEADROOM_GUARDED_BY(mutex_) = 0;  // Since the beginning.
  std::uint64_t read_ HEADROOM_GUARDED_BY(mutex_) = 0;     // Or left out.
  std::uint64_t left_out_ HEADROOM_GUARDED_BY(mutex_) = 0;
  bool is_closed_ HEADROOM_GUARDED_BY(mutex_) = false;
  bool is_abandoned_ HEADROOM_GUARDED_BY(mutex_) = false;
};

}  // namespace headroom::machine
