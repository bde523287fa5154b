// SPDX-License-Identifier: Apache-2.0
// The segment as one rank has it: mapped, with its own place in it. Taking the place and leaving it
// happen under the file's lock; everything in between is the protocol's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "averager/layout.h"
#include "averager/process_identity.h"
#include "averager/protocol/action.h"
#include "averager/segment_file.h"
#include "averager/wait.h"
#include "base/mutex.h"
#include "base/result.h"

namespace headroom::averager {

using Memory = std::shared_ptr<std::byte>;

// One mapping for the ranks that are threads of a process. A thread sanitizer knows memory by its
// address, so it sees nothing of ranks that map the segment each for itself.
struct SharedMapping {
  Mutex mutex;
  std::weak_ptr<std::byte> memory HEADROOM_GUARDED_BY(mutex);
};

class Segment {
 public:
  // Takes the place of `rank`. Fails with busy if a living process has it. A rank that was here
  // before and died or left begins a new incarnation: see has_come_back().
  // Ranks that are threads of one process use one mapping if they give the same `shared`.
  static Result<Segment> open(const FilePlace& place, const Terms& terms, std::uint32_t rank,
                              SharedMapping* shared = nullptr);
  // Leaves, and removes the file if nobody else is there.
  ~Segment();
  Segment(Segment&&) noexcept = default;
  Segment& operator=(Segment&&) = delete;

  const Terms& terms() const { return terms_; }
  const protocol::Self& self() const { return self_; }
  bool has_come_back() const { return has_come_back_; }
  std::string path() const { return path_; }

  std::atomic<std::uint64_t>& word(const protocol::Word& where) const;
  Bell bell() const { return {control().bell, control().sleepers}; }
  Member& member(std::uint32_t rank) const { return control().members.at(rank); }
  Description& description(std::uint32_t rank, std::uint32_t slot) const {
    return control().slots.at(slot).descriptions.at(rank);
  }
  std::byte* scratch(std::uint32_t rank) const;
  std::byte* arena(std::uint32_t rank) const;
  std::byte* base() const { return memory_.get(); }
  std::uint64_t bytes() const { return layout_.total; }

 private:
  static Result<Memory> map(const SegmentFile& file, std::uint64_t bytes, SharedMapping* shared);
  Segment(SegmentFile file, Memory memory, const Terms& terms, std::uint32_t rank);
  Control& control() const;
  Status take_place();

  SegmentFile file_;
  Memory memory_;
  Terms terms_;
  Layout layout_;
  protocol::Self self_;
  std::string path_;
  bool has_come_back_ = false;
  bool is_here_ = false;
};

}  // namespace headroom::averager
