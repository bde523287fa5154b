// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_input.h"

#include <utility>

#include "allocator/replay/snapshot_trace.h"
#include "allocator/snapshot/pickle.h"
#include "allocator/snapshot/snapshot_reader.h"

namespace headroom::cli {
namespace {

Result<ReplayInput> parse_snapshot(std::string_view text, std::optional<std::uint32_t> device) {
  HEADROOM_TRY(allocator::SnapshotReading reading, allocator::read_snapshot(text, device));
  auto made = to_trace(reading.snapshot);
  if (!made) return std::move(made).error();
  report::SnapshotFacts facts;
  facts.device = reading.snapshot.device;
  facts.devices = std::move(reading.devices);
  facts.names = std::move(reading.snapshot.names);
  facts.settings = std::move(reading.snapshot.settings);
  facts.live_at_start = made->live_at_start;
  facts.live_at_start_bytes = made->live_at_start_bytes;
  facts.contradictions = made->contradictions;
  facts.oom = std::move(made->oom);
  ReplayInput input;
  if (facts.oom) input.capacity_bytes = facts.oom->capacity_bytes();
  input.trace = std::move(made->trace);
  input.snapshot = std::move(facts);
  return input;
}

Result<ReplayInput> parse_recording(std::string_view text) {
  HEADROOM_TRY(allocator::Recording recording, allocator::parse_flight_record(text));
  ReplayInput input;
  input.trace = to_trace(recording);
  input.recording = report::RecordingFacts(recording);
  if (recording.capacity_bytes > 0) input.capacity_bytes = recording.capacity_bytes;
  input.recorded = std::move(recording);
  return input;
}

}  // namespace

Result<ReplayInput> parse_replay_input(std::string_view text, std::optional<std::uint32_t> device) {
  if (allocator::looks_like_pickle(text)) return parse_snapshot(text, device);
  // Snapshots are often kept compressed (RFC 1952, and a zip archive's first file).
  if (text.starts_with("\x1f\x8b") || text.starts_with("PK\x03\x04"))
    return Error{Errc::unsupported, "the file is compressed", "unpack it first: gunzip or unzip"};
  if (device)
    return Error{Errc::invalid, "only a PyTorch snapshot has several devices",
                 "leave --device away"};
  if (allocator::is_flight_record(text)) return parse_recording(text);
  HEADROOM_TRY(allocator::Trace trace, allocator::parse_trace(text));
  ReplayInput input;
  input.trace = std::move(trace);
  return input;
}

}  // namespace headroom::cli
