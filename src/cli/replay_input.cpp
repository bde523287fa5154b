// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_input.h"

#include <fmt/format.h>

#include <utility>

#include "allocator/pickle.h"
#include "allocator/recording.h"
#include "allocator/snapshot_reader.h"
#include "allocator/snapshot_trace.h"
#include "base/bytes.h"

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
  input.trace = std::move(made->trace);
  if (facts.oom) input.capacity_bytes = facts.oom->capacity_bytes();
  input.snapshot = std::move(facts);
  return input;
}

std::string introduce(const allocator::Recording& recording) {
  std::string text = fmt::format(
      "A flight recording of process {} on {}, capacity {}: {} events, {}.\n", recording.pid,
      recording.device.empty() ? "an unnamed device" : recording.device,
      to_string(Bytes{recording.capacity_bytes}), recording.events.size(),
      recording.closed ? "closed in order" : "not closed: the process was killed, or still runs");
  if (recording.lost > 0)
    text += fmt::format("{} older events were overwritten; what they left live is in the trace.\n",
                        recording.lost);
  if (recording.torn + recording.damaged > 0)
    text += fmt::format("{} records were torn or damaged and are left out.\n",
                        recording.torn + recording.damaged);
  const allocator::HeapView end = allocator::heap_at_end(recording);
  text += fmt::format("Live at its end: {} in {} blocks.\n", to_string(Bytes{end.usage.live_bytes}),
                      end.blocks.size());
  return text + "\n";
}

Result<ReplayInput> parse_recording(std::string_view bytes) {
  HEADROOM_TRY(const allocator::Recording recording, allocator::parse_flight_record(bytes));
  ReplayInput input;
  input.trace = allocator::to_trace(recording);
  if (recording.capacity_bytes > 0) input.capacity_bytes = recording.capacity_bytes;
  input.introduction = introduce(recording);
  return input;
}

}  // namespace

Result<ReplayInput> parse_replay_input(std::string_view text, std::optional<std::uint32_t> device) {
  if (allocator::looks_like_pickle(text)) return parse_snapshot(text, device);
  if (allocator::is_flight_record(text) && !device) return parse_recording(text);
  // Snapshots are often kept compressed (RFC 1952, and a zip archive's first file).
  if (text.starts_with("\x1f\x8b") || text.starts_with("PK\x03\x04"))
    return Error{Errc::unsupported, "the file is compressed", "unpack it first: gunzip or unzip"};
  if (device)
    return Error{Errc::invalid, "a trace has no devices, only a PyTorch snapshot has",
                 "leave --device away"};
  HEADROOM_TRY(allocator::Trace trace, allocator::parse_trace(text));
  return ReplayInput{std::move(trace), std::nullopt};
}

}  // namespace headroom::cli
