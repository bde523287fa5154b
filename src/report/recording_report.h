// SPDX-License-Identifier: Apache-2.0
// What a flight recording is, in words, for who replays it.
#pragma once

#include <string>

#include "allocator/replay/recording.h"
#include "base/document_fwd.h"

namespace headroom::report {

// A recording without its events.
struct RecordingFacts {
  explicit RecordingFacts(const allocator::Recording& recording);

  std::uint64_t pid = 0;
  std::string device;  // Empty: the writer did not say.
  bool closed = false;
  std::uint64_t events = 0;
  allocator::DeviceEvents device_events = allocator::DeviceEvents::none;
  std::uint64_t lost = 0;
  std::uint64_t torn = 0;
  std::uint64_t damaged = 0;
};

// The key "recording" of headroom.replay/1.
Json to_json(const RecordingFacts& facts);

// What stands above the table of policies.
std::string introduce(const std::string& name, const RecordingFacts& facts, std::size_t width);

}  // namespace headroom::report
