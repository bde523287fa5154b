// SPDX-License-Identifier: Apache-2.0
// An allocation trace: what a program requested from its allocator, without the answers. It is text
// with one event on each line (docs/replay.md):
//
//   a ID BYTES [STREAM [TAG]]   allocate
//   f ID                        free
//   s STREAM                    synchronise
//   # …                         comment
//
// An ID may be used again after its free. TAG is a component's name; any other word counts as
// `other`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "allocator/component.h"
#include "allocator/policy.h"
#include "base/result.h"

namespace headroom::allocator {

enum class EventKind : std::uint8_t { allocate, free, synchronize };

struct Event {
  EventKind kind = EventKind::allocate;
  Component tag = Component::other;
  StreamId stream = 0;       // For allocate and synchronize.
  std::uint32_t object = 0;  // For allocate and free: an index below Trace::objects.
  std::uint64_t bytes = 0;   // For allocate.
};

struct Trace {
  std::vector<Event> events;
  std::uint32_t objects = 0;  // The most that are live at once.
};

// Parses a trace line by line, so that a file of any length can be read in pieces.
class TraceParser {
 public:
  // Fails with the line's number on a line that is no event, on an allocation of an ID that is
  // live, on a free of one that is not, and where more than 2^63 bytes would be live.
  Status add_line(std::string_view line);
  Trace take() { return std::move(trace_); }

 private:
  Status add_allocate(const std::vector<std::string_view>& words);
  Status add_free(const std::vector<std::string_view>& words);
  Status add_synchronize(const std::vector<std::string_view>& words);
  Error wrong(std::string_view what) const;

  Trace trace_;
  std::uint64_t line_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> live_;  // ID → object.
  std::vector<std::uint64_t> bytes_;                       // Each object's size while it is live.
  std::uint64_t live_bytes_ = 0;
  std::vector<std::uint32_t> unused_;
};

Result<Trace> parse_trace(std::string_view text);

}  // namespace headroom::allocator
