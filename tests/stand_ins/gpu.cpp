// SPDX-License-Identifier: Apache-2.0
#include "stand_ins/gpu.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

namespace headroom::stand_ins {
namespace {

constexpr Gpu::Handle named_streams = 100;

void* pointer_to(std::uint64_t address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));  // NOLINT: a number's
}

Error no_such(const char* what) {
  return {Errc::invalid, std::string("no such ") + what, ""};
}

}  // namespace

void PinnedMemory::add(std::uint64_t address, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  pieces_[address] = bytes;
}

bool PinnedMemory::remove(std::uint64_t address) {
  const MutexLock lock(mutex_);
  return pieces_.erase(address) != 0;
}

bool PinnedMemory::contains(std::uint64_t address) const {
  const MutexLock lock(mutex_);
  const auto next = pieces_.upper_bound(address);
  return next != pieces_.begin() && address - std::prev(next)->first < std::prev(next)->second;
}

Gpu::Gpu(const GpuSettings& settings, PinnedMemory& pinned, unsigned number)
    : settings_(settings), pinned_(pinned), driver_(settings.fault), last_handle_(number) {
  driver_.set_total_bytes(settings.total_bytes);
}

Status Gpu::check() const {
  if (is_lost_) return Error{Errc::io, "the device is lost: its work met memory that was gone", ""};
  return Done{};
}

Result<std::uint64_t> Gpu::reserve(std::uint64_t bytes, std::uint64_t alignment) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  return driver_.reserve(bytes, alignment);
}
Status Gpu::free_range(std::uint64_t address, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  return driver_.free_range(address, bytes);
}
Result<std::uint64_t> Gpu::create_pages(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  HEADROOM_CHECK(admit_allocation());
  return driver_.create_pages(bytes);
}
Status Gpu::destroy_pages(std::uint64_t page) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  return driver_.destroy_pages(page);
}
Status Gpu::map(std::uint64_t address, std::uint64_t bytes, std::uint64_t page) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  return driver_.map(address, bytes, page);
}
Status Gpu::set_access(std::uint64_t address, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  return driver_.set_access(address, bytes);
}
Status Gpu::unmap(std::uint64_t address, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  return driver_.unmap(address, bytes);
}

Status Gpu::admit_allocation() {
  if (refused_allocation_ == 0 || --refused_allocation_ != 0) return Done{};
  return Error{Errc::out_of_memory, "a planned refusal", ""};
}

Result<std::uint64_t> Gpu::allocate(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  HEADROOM_CHECK(admit_allocation());
  HEADROOM_TRY(const std::uint64_t address, driver_.allocate(bytes));
  plain_[address] = bytes;
  ++counts_.allocations;
  counts_.plain_bytes += bytes;
  counts_.peak_plain_bytes = std::max(counts_.peak_plain_bytes, counts_.plain_bytes);
  return address;
}

Status Gpu::release(std::uint64_t address) {
  const MutexLock lock(mutex_);
  queues_.run_all();
  HEADROOM_CHECK(check());
  HEADROOM_CHECK(driver_.release(address));
  ++counts_.releases;
  counts_.plain_bytes -= plain_[address];
  plain_.erase(address);
  return Done{};
}

Result<allocator::MemoryInfo> Gpu::memory_info() {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  return driver_.memory_info();
}
bool Gpu::owns(std::uint64_t address) const {
  const MutexLock lock(mutex_);
  return driver_.owns(address);
}
std::uint64_t Gpu::virtual_memory_calls() const {
  const MutexLock lock(mutex_);
  return driver_.virtual_memory_calls();
}
std::uint64_t Gpu::memory_info_calls() const {
  const MutexLock lock(mutex_);
  return driver_.memory_info_calls();
}
void Gpu::refuse_allocation(std::uint64_t nth) {
  const MutexLock lock(mutex_);
  refused_allocation_ = nth;
}
bool Gpu::is_lost() const {
  const MutexLock lock(mutex_);
  return is_lost_;
}
GpuCounts Gpu::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

Result<StreamNumber> Gpu::number_of(Handle stream) {
  if (const auto found = streams_.find(stream); found != streams_.end()) return found->second;
  if (stream >= named_streams) return no_such("stream");
  return streams_[stream] = queues_.create(false);
}

Status Gpu::add(Handle stream, StreamQueues::Work work, bool waits) {
  HEADROOM_TRY(const StreamNumber number, number_of(stream));
  queues_.add(number, std::move(work));
  if (waits || !settings_.is_deferred) queues_.run(queues_.now(number));
  return check();
}

Status Gpu::move_bytes(std::uint64_t to, bool to_here, std::uint64_t from, bool from_here,
                       std::uint64_t bytes) {
  if (to_here && from_here) return driver_.copy(to, from, bytes);
  if (to_here) return driver_.copy_in(to, pointer_to(from), bytes);
  if (from_here) return driver_.copy_out(pointer_to(to), from, bytes);
  std::memmove(pointer_to(to), pointer_to(from), bytes);
  return Done{};
}

// Whose memory the addresses are is decided when the work is given: by the time that it is done,
// the memory may be gone, which is what is to be seen.
StreamQueues::Work Gpu::copying(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  const bool to_here = driver_.owns(to);
  const bool from_here = driver_.owns(from);
  auto taken = std::make_shared<std::vector<std::byte>>();
  if (!from_here && settings_.is_deferred && !pinned_.contains(from)) {
    const auto* first = static_cast<const std::byte*>(pointer_to(from));
    taken->assign(first, first + bytes);
  }
  return [this, to, to_here, from, from_here, bytes, taken] {
    const auto source = taken->empty() ? from : reinterpret_cast<std::uintptr_t>(taken->data());
    if (!is_lost_ && !move_bytes(to, to_here, source, from_here, bytes)) is_lost_ = true;
  };
}

Status Gpu::copy(Handle stream, std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  ++counts_.copies;
  if (bytes == 0) return Done{};
  const bool waits = !driver_.owns(to) && !pinned_.contains(to);
  return add(stream, copying(to, from, bytes), waits);
}

Status Gpu::copy_now(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  HEADROOM_CHECK(copy(0, to, from, bytes));
  return wait_for_stream(0);
}

Status Gpu::fill(Handle stream, std::uint64_t to, std::uint64_t bytes, std::uint32_t word,
                 unsigned unit) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  ++counts_.fills;
  const std::uint32_t repeated = unit == 1 ? (word & 0xffU) * 0x01010101U : word;
  const bool is_here = driver_.owns(to);
  const auto work = [this, to, bytes, repeated, is_here] {
    std::array<std::uint32_t, 16384> piece{};
    piece.fill(repeated);
    for (std::uint64_t at = 0; at < bytes && !is_lost_; at += sizeof piece) {
      const auto from = reinterpret_cast<std::uintptr_t>(piece.data());
      const std::uint64_t length = std::min<std::uint64_t>(bytes - at, sizeof piece);
      if (!move_bytes(to + at, is_here, from, false, length)) is_lost_ = true;
    }
  };
  return add(stream, work, false);
}

Status Gpu::call(Handle stream, std::function<void()> work) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  return add(stream, std::move(work), false);
}

Status Gpu::launch(Handle stream) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  ++counts_.launches;
  return add(
      stream, [] {}, false);
}

}  // namespace headroom::stand_ins
