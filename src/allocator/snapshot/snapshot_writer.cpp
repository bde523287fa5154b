// SPDX-License-Identifier: Apache-2.0
#include "allocator/snapshot/snapshot_writer.h"

#include <fmt/format.h>

#include <string_view>
#include <unordered_map>
#include <vector>

#include "allocator/snapshot/pickle_writer.h"
#include "allocator/snapshot/snapshot_owners.h"
#include "base/encoding.h"
#include "base/require.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t small_segment_bytes = std::uint64_t{2} << 20U;

std::string_view name_of(SnapshotAction action) {
  switch (action) {
    case SnapshotAction::alloc:
      return "alloc";
    case SnapshotAction::free_requested:
      return "free_requested";
    case SnapshotAction::free_completed:
      return "free_completed";
    case SnapshotAction::segment_alloc:
      return "segment_alloc";
    case SnapshotAction::segment_free:
      return "segment_free";
    case SnapshotAction::segment_map:
      return "segment_map";
    case SnapshotAction::segment_unmap:
      return "segment_unmap";
    case SnapshotAction::oom:
      return "oom";
    case SnapshotAction::snapshot:
      break;
  }
  return "snapshot";
}

std::string_view name_of(SnapshotBlockState state) {
  switch (state) {
    case SnapshotBlockState::active_allocated:
      return "active_allocated";
    case SnapshotBlockState::active_awaiting_free:
      return "active_pending_free";  // The word that the viewer looks for.
    case SnapshotBlockState::inactive:
      break;
  }
  return "inactive";
}

class Writer {
 public:
  explicit Writer(const Snapshot& snapshot) : snapshot_(snapshot) {}

  std::string run() {
    out_.begin_dict();
    out_.text("segments");
    out_.list(snapshot_.segments, [&](const SnapshotSegment& segment) { add(segment); });
    out_.text("device_traces");
    // There is one list for each device, with this device's at its number.
    std::vector<const std::vector<SnapshotEvent>*> traces(snapshot_.device + std::size_t{1},
                                                          &no_events_);
    traces.back() = &snapshot_.events;
    out_.list(traces, [&](const std::vector<SnapshotEvent>* events) {
      out_.list(*events, [&](const SnapshotEvent& event) { add(event); });
    });
    out_.text("allocator_settings");
    out_.begin_dict();
    field("PYTORCH_CUDA_ALLOC_CONF", std::string_view(snapshot_.settings));
    out_.end_dict();
    out_.end_dict();
    return out_.take();
  }

 private:
  void field(std::string_view key, std::uint64_t value) {
    out_.text(key);
    out_.integer(value);
  }
  void field(std::string_view key, std::string_view value) {
    out_.text(key);
    out_.text(is_utf8(value) ? value : "not text");
  }

  void add(const SnapshotSegment& segment) {
    std::uint64_t allocated = 0;
    std::uint64_t active = 0;
    std::uint64_t requested = 0;
    for (const SnapshotBlock& block : segment.blocks) {
      if (block.state == SnapshotBlockState::inactive) continue;
      active += block.size_bytes;
      requested += block.requested_bytes;
      if (block.state == SnapshotBlockState::active_allocated) allocated += block.size_bytes;
    }
    out_.begin_dict();
    field("device", snapshot_.device);
    field("address", segment.address);
    field("total_size", segment.total_bytes);
    field("allocated_size", allocated);
    field("active_size", active);
    field("requested_size", requested);
    field("stream", segment.stream);
    field("segment_type", segment.total_bytes <= small_segment_bytes ? "small" : "large");
    out_.text("segment_pool_id");
    out_.integer(0);
    out_.integer(0);
    out_.pair();
    out_.text("is_expandable");
    out_.boolean(segment.expandable);
    out_.text("frames");
    out_.list(no_events_, [](const SnapshotEvent&) {});
    out_.text("blocks");
    out_.list(segment.blocks, [&](const SnapshotBlock& block) { add(block); });
    out_.end_dict();
  }

  void add(const SnapshotBlock& block) {
    out_.begin_dict();
    field("address", block.address);
    field("size", block.size_bytes);
    field("requested_size", block.requested_bytes);
    field("state", name_of(block.state));
    add_frames(block.owner);
    out_.end_dict();
  }

  void add(const SnapshotEvent& event) {
    out_.begin_dict();
    field("action", name_of(event.action));
    field(event.action == SnapshotAction::oom ? "device_free" : "addr", event.address);
    field("size", event.bytes);
    field("stream", event.stream);
    if (event.time_us > 0) field("time_us", event.time_us);
    add_frames(event.owner);
    out_.end_dict();
  }

  void add_frames(SnapshotOwner owner) {
    out_.text("frames");
    const std::uint64_t key =
        std::uint64_t{owner.name} << 8U | static_cast<std::uint64_t>(owner.tag);
    if (const auto known = frames_.find(key); known != frames_.end()) {
      out_.recall(known->second);
      return;
    }
    std::vector<std::string> names = {
        fmt::format("{}{}", component_frame_prefix, to_string(owner.tag))};
    require(owner.name < std::max<std::size_t>(snapshot_.names.size(), 1),
            "the name of a block's owner is in the snapshot");
    if (owner.name != 0) names.push_back(snapshot_.names[owner.name]);
    out_.list(names, [&](const std::string& name) {
      out_.begin_dict();
      field("name", std::string_view(name));
      field("filename", std::string_view(""));
      field("line", 0);
      out_.end_dict();
    });
    frames_.emplace(key, out_.remember());
  }

  const Snapshot& snapshot_;
  const std::vector<SnapshotEvent> no_events_;
  PickleWriter out_;
  std::unordered_map<std::uint64_t, std::uint32_t> frames_;  // Owner → number given by remember().
};

}  // namespace

std::string to_pickle(const Snapshot& snapshot) {
  return Writer(snapshot).run();
}

}  // namespace headroom::allocator
