// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/read_along.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace headroom::machine {

// Not filled: what is never used takes no memory.
ReadAlong::ReadAlong(std::size_t capacity)
    : capacity_(capacity), ring_(std::make_unique_for_overwrite<char[]>(capacity)) {}

std::span<char> ReadAlong::reserve(std::size_t wanted) {
  const MutexLock lock(mutex_);
  const std::size_t at = written_ % capacity_;
  const std::size_t length = std::min(wanted, capacity_ - at);
  const std::uint64_t kept_from = written_ + length > capacity_ ? written_ + length - capacity_ : 0;
  if (kept_from > read_) left_out_ += kept_from - std::exchange(read_, kept_from);
  return {ring_.get() + at, length};
}

void ReadAlong::commit(std::size_t count) {
  const MutexLock lock(mutex_);
  written_ += count;
  changed_.notify_one();
}

void ReadAlong::close() {
  const MutexLock lock(mutex_);
  is_closed_ = true;
  changed_.notify_one();
}

void ReadAlong::abandon() {
  const MutexLock lock(mutex_);
  is_abandoned_ = true;
  changed_.notify_one();
}

std::string_view ReadAlong::read(std::span<char> into, std::uint64_t& left_out) {
  const MutexLock lock(mutex_);
  while (read_ == written_ && !is_closed_ && !is_abandoned_) changed_.wait(mutex_);
  if (is_abandoned_) return {};
  const std::size_t at = read_ % capacity_;
  const std::size_t there = std::min<std::uint64_t>(written_ - read_, capacity_ - at);
  const std::size_t length = std::min(there, into.size());
  std::memcpy(into.data(), ring_.get() + at, length);
  read_ += length;
  left_out = std::exchange(left_out_, 0);
  return {into.data(), length};
}

}  // namespace headroom::machine
