// SPDX-License-Identifier: Apache-2.0
#include "averager/streams.h"

#include <algorithm>

#include "averager/kernels.h"

namespace headroom::averager {
namespace {

// What is copied before the other side hears of it, so that both copy at once.
constexpr std::uint64_t piece_bytes = 512U << 10U;

}  // namespace

std::uint64_t Streams::bytes_for(std::uint64_t message_bytes) {
  return Layout::rounded(sizeof(Head)) + 2 * Layout::rounded(message_bytes);
}

Result<Streams> Streams::make(Averager& averager, std::uint64_t message_bytes) {
  HEADROOM_TRY(const std::byte* own, averager.allocate(bytes_for(message_bytes)));
  return Streams(averager, static_cast<std::uint64_t>(own - averager.arena(averager.rank())),
                 Layout::rounded(message_bytes));
}

Streams::Head& Streams::head(std::uint32_t rank) const {
  // The segment is all zero where it is new, which is a valid Head.
  return *reinterpret_cast<Head*>(averager_->arena(rank) + offset_);
}

Streams::Lane Streams::lane(std::uint32_t from, std::uint32_t to) const {
  std::byte* const rooms = averager_->arena(from) + offset_ + Layout::rounded(sizeof(Head));
  if (to > from) return {&head(from).forward, rooms};
  return {&head(from).back, rooms + room_};
}

bool Streams::is_interrupted() const {
  for (std::uint32_t rank = 0; rank < averager_->ranks(); ++rank)
    if (head(rank).interrupted.load() == round_) return true;
  return false;
}

Result<bool> Streams::wait(const std::atomic<std::uint64_t>& word, std::uint64_t seen,
                           std::uint32_t peer) const {
  HEADROOM_CHECK(averager_->wait_for(
      peer, [&] { return word.load(std::memory_order_acquire) != seen || is_interrupted(); }));
  return !is_interrupted();
}

Result<bool> Streams::send(std::uint32_t to, const std::byte* data, std::uint64_t bytes) {
  const Lane out = lane(averager_->rank(), to);
  std::uint64_t written = out.ring->written.load();
  while (bytes > 0) {
    const std::uint64_t read = out.ring->read.load(std::memory_order_acquire);
    const std::uint64_t free = room_ - (written - read);
    if (free == 0) {
      HEADROOM_TRY(const bool goes_on, wait(out.ring->read, read, to));
      if (!goes_on) return false;
      continue;
    }
    const std::uint64_t place = written % room_;
    const std::uint64_t now = std::min({bytes, free, room_ - place, piece_bytes});
    averager::copy(data, out.room + place, now);
    written += now;
    out.ring->written.store(written, std::memory_order_release);
    averager_->ring();
    data += now;
    bytes -= now;
  }
  return !is_interrupted();
}

Result<bool> Streams::receive(std::uint32_t from, std::byte* into, std::uint64_t bytes) {
  const Lane in = lane(from, averager_->rank());
  std::uint64_t read = in.ring->read.load();
  while (bytes > 0) {
    const std::uint64_t written = in.ring->written.load(std::memory_order_acquire);
    if (written == read) {
      HEADROOM_TRY(const bool goes_on, wait(in.ring->written, written, from));
      if (!goes_on) return false;
      continue;
    }
    const std::uint64_t place = read % room_;
    const std::uint64_t now = std::min({bytes, written - read, room_ - place});
    averager::copy(in.room + place, into, now);
    read += now;
    in.ring->read.store(read, std::memory_order_release);
    averager_->ring();
    into += now;
    bytes -= now;
  }
  return !is_interrupted();
}

void Streams::interrupt() {
  head(averager_->rank()).interrupted.store(round_);
  averager_->ring();
}

void Streams::restart() {
  ++round_;
  const std::uint32_t me = averager_->rank();
  const auto drop = [&](std::uint32_t from) {
    Ring& ring = *lane(from, me).ring;
    ring.read.store(ring.written.load());
  };
  if (me > 0) drop(me - 1);
  if (me + 1 < averager_->ranks()) drop(me + 1);
}

}  // namespace headroom::averager
