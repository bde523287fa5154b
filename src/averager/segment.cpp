// SPDX-License-Identifier: Apache-2.0
#include "averager/segment.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "machine/os_error.h"

namespace headroom::averager {

using protocol::Area;
using protocol::Life;
using protocol::LifeWord;

Segment::Segment(SegmentFile file, Memory memory, const Terms& terms, std::uint32_t rank)
    : file_(std::move(file)),
      memory_(std::move(memory)),
      terms_(terms),
      layout_(terms),
      self_{.rank = rank, .ranks = terms.ranks, .slots = terms.slots, .incarnation = 1} {}

Control& Segment::control() const {
  // The file is all zero where it is new, which is a valid Control, or was written as one.
  return *reinterpret_cast<Control*>(memory_.get());
}

Result<Memory> Segment::map(const SegmentFile& file, std::uint64_t bytes, SharedMapping* shared) {
  if (shared != nullptr) {
    const MutexLock lock(shared->mutex);
    if (Memory memory = shared->memory.lock()) return memory;
    HEADROOM_TRY(Memory memory, map(file, bytes, nullptr));
    shared->memory = memory;
    return memory;
  }
  // With its pages, which are there already: no fault interrupts the first bucket.
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                         file.descriptor(), 0);
  if (address == MAP_FAILED) return machine::os_error(errno, "mapping the averager's segment");
  ::madvise(address, bytes, MADV_HUGEPAGE);  // Where the system allows it for /dev/shm.
  return Memory(static_cast<std::byte*>(address),
                [bytes](std::byte* memory) { ::munmap(memory, bytes); });
}

Result<Segment> Segment::open(const FilePlace& place, const Terms& terms, std::uint32_t rank,
                              SharedMapping* shared) {
  HEADROOM_TRY(SegmentFile file, SegmentFile::open(place, terms));
  auto memory = map(file, Layout(terms).total, shared);
  if (!memory) {
    if (file.is_new()) file.remove();
    return std::move(memory).error();
  }
  Segment segment(std::move(file), *std::move(memory), terms, rank);
  segment.path_ = place.path();
  HEADROOM_CHECK(segment.take_place());
  segment.file_.unlock();
  return segment;
}

// Requires: the file is locked.
Status Segment::take_place() {
  Control& shared = control();
  if (file_.is_new()) {
    shared.header = {.magic = 0,
                     .terms = terms_,
                     .pid_namespace = pid_namespace(),
                     .total_bytes = layout_.total};
  }
  Member& me = shared.members.at(self_.rank);
  const LifeWord before = protocol::to_life(me.life.load());
  const ProcessIdentity holder{.pid = me.pid, .started = me.started};
  if (protocol::is_live(me.life.load()) && is_running(holder))
    return Error{Errc::busy,
                 fmt::format("expected rank {} of {} to be free, found process {} there: it was "
                             "started twice, or another job runs under the same name",
                             self_.rank, path_, holder.pid),
                 fmt::format("ps -p {}; give the jobs different names", holder.pid)};
  if (before.life != Life::absent) {
    has_come_back_ = true;
    self_.incarnation = before.incarnation + 1;
    if (protocol::is_live(me.life.load())) {  // Died, and nobody has noticed yet.
      me.life.store(to_word(LifeWord{before.incarnation, Life::dead}));
      bell().ring();
    }
  }
  const ProcessIdentity self = own_identity();
  me.pid = self.pid;
  me.started = self.started;
  // A rank that comes back becomes live by the protocol, when the others can admit it.
  if (!has_come_back_) me.life.store(self_.life_word());
  is_here_ = true;
  if (file_.is_new()) {
    std::atomic_ref(shared.header.magic).store(Header::magic_word, std::memory_order_release);
  }
  bell().ring();
  return Done{};
}

Segment::~Segment() {
  if (!memory_ || !is_here_) return;
  const bool locked = file_.lock().has_value();
  Member& me = member(self_.rank);
  const LifeWord mine = protocol::to_life(me.life.load());
  if (mine.incarnation == self_.incarnation && mine.life != Life::dead)
    me.life.store(to_word(LifeWord{self_.incarnation, Life::left}));
  bell().ring();
  if (!locked) return;
  for (std::uint32_t rank = 0; rank < terms_.ranks; ++rank) {
    const Member& other = member(rank);
    // A rank that comes back is here before it is live: its process is written down already.
    const bool is_there = protocol::to_life(other.life.load()).life != Life::left &&
                          is_running({.pid = other.pid, .started = other.started});
    if (rank == self_.rank || !is_there) continue;
    file_.unlock();
    return;
  }
  file_.remove();
  file_.unlock();
}

std::atomic<std::uint64_t>& Segment::word(const protocol::Word& where) const {
  switch (where.area) {
    case Area::life:
      return member(where.index).life;
    case Area::finished:
      return member(where.index).finished;
    case Area::arrived:
      return control().slots.at(where.index).arrived;
    case Area::decided:
      return control().slots.at(where.index).decided;
    case Area::chunk:
    case Area::bell:  // Is no word of 64 bits: see bell().
      break;
  }
  auto* chunks = reinterpret_cast<std::atomic<std::uint64_t>*>(memory_.get() + layout_.chunks);
  return chunks[where.index * layout_.chunks_per_slot + where.chunk];
}

std::byte* Segment::scratch(std::uint32_t rank) const {
  return memory_.get() + layout_.scratch + rank * Layout::rounded(terms_.chunk_bytes);
}

std::byte* Segment::arena(std::uint32_t rank) const {
  return memory_.get() + layout_.arenas + rank * terms_.arena_bytes;
}

}  // namespace headroom::averager
