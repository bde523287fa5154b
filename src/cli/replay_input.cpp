// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_input.h"

#include <algorithm>
#include <array>
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

// Snapshots are often kept compressed (RFC 1952 and 8878, a zip archive's first file, xz and bzip2
// by their own documents).
bool is_compressed(std::string_view text) {
  constexpr std::array<std::string_view, 5> magics = {"\x1f\x8b", "PK\x03\x04", "\x28\xb5\x2f\xfd",
                                                      "\xfd\x37zXZ", "BZh"};
  return std::any_of(magics.begin(), magics.end(),
                     [&](std::string_view magic) { return text.starts_with(magic); });
}

// A text has no control characters but blanks and line ends.
bool is_text(std::string_view text) {
  constexpr std::size_t looked_at = 4096;
  const std::string_view begin = text.substr(0, looked_at);
  return std::none_of(begin.begin(), begin.end(), [](unsigned char c) {
    return c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\v' && c != '\f';
  });
}

}  // namespace

Result<ReplayInput> parse_replay_input(std::string_view text, std::optional<std::uint32_t> device) {
  if (allocator::looks_like_pickle(text)) return parse_snapshot(text, device);
  if (is_compressed(text))
    return Error{Errc::unsupported, "the file is compressed",
                 "unpack it first: gunzip, unzip, unxz, unzstd or bunzip2"};
  if (device)
    return Error{Errc::invalid, "only a PyTorch snapshot has several devices",
                 "leave --device away"};
  if (allocator::is_flight_record(text)) return parse_recording(text);
  if (!is_text(text))
    return Error{
        Errc::invalid,
        "expected a trace, a PyTorch memory snapshot or a flight recording, found another "
        "kind of binary file",
        "torch.cuda.memory._dump_snapshot(\"FILE.pickle\") writes a snapshot, headroom run "
        "JOB.toml --trace FILE a trace"};
  HEADROOM_TRY(allocator::Trace trace, allocator::parse_trace(text));
  ReplayInput input;
  input.trace = std::move(trace);
  return input;
}

}  // namespace headroom::cli
