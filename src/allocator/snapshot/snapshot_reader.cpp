// SPDX-License-Identifier: Apache-2.0
#include "allocator/snapshot/snapshot_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "allocator/snapshot/pickle.h"
#include "allocator/snapshot/snapshot_owners.h"

namespace headroom::allocator {
namespace {

template <std::size_t count>
using Keys = std::array<std::string_view, count>;

constexpr std::uint32_t most_devices = 1024;

struct Named {
  std::string_view name;
  SnapshotAction action;
};
// torch 2.0, and conversions from profiles, write "free" for a completed free.
constexpr std::array<Named, 10> actions = {{{"alloc", SnapshotAction::alloc},
                                            {"free_requested", SnapshotAction::free_requested},
                                            {"free_completed", SnapshotAction::free_completed},
                                            {"free", SnapshotAction::free_completed},
                                            {"segment_alloc", SnapshotAction::segment_alloc},
                                            {"segment_free", SnapshotAction::segment_free},
                                            {"segment_map", SnapshotAction::segment_map},
                                            {"segment_unmap", SnapshotAction::segment_unmap},
                                            {"oom", SnapshotAction::oom},
                                            {"snapshot", SnapshotAction::snapshot}}};

Error wrong(std::string what) {
  return {Errc::invalid, std::move(what),
          "give the file that torch.cuda.memory._dump_snapshot(\"FILE.pickle\") wrote, or a trace"};
}

class Reader {
 public:
  explicit Reader(const Pickle& pickle)
      : pickle_(pickle), owners_(pickle, result_.snapshot.names) {}

  Result<SnapshotReading> run(std::optional<std::uint32_t> device) {
    const auto [segments, traces, settings] =
        pickle_.fields(pickle_.root(), Keys<3>{"segments", "device_traces", "allocator_settings"});
    if (pickle_.root().kind() == PickleKind::list) return without_history();
    if (segments.kind() != PickleKind::list)
      return wrong("the pickle is no memory snapshot: it has no list \"segments\"");
    HEADROOM_CHECK(count(segments, traces));
    HEADROOM_CHECK(choose(device));
    HEADROOM_CHECK(read_events(traces));
    HEADROOM_CHECK(read_segments(segments));
    for (const PickleValue text :
         pickle_.fields(settings, Keys<2>{"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}))
      if (const auto words = pickle_.to_text(text)) result_.snapshot.settings = *words;
    return std::move(result_);
  }

 private:
  static Error without_history() {
    return {
        Errc::invalid,
        "the file has a list of segments and no history: torch.cuda.memory_snapshot() alone does "
        "not record what happened",
        "call torch.cuda.memory._record_memory_history() before the job, and "
        "torch.cuda.memory._dump_snapshot(\"FILE.pickle\") after it"};
  }

  // Each dict of a snapshot may be read only once. A file that refers to the same dict again and
  // again could make a few bytes look like billions of events.
  Status spend() {
    if (++spent_ > pickle_.container_count())
      return wrong("the snapshot repeats the same events or blocks");
    return Done{};
  }

  template <class Visit>
  Status for_each(PickleValue list, Visit&& visit) {
    Status status = Done{};
    pickle_.each(list, [&](PickleValue item) {
      status = spend();
      if (status) status = visit(item);
      return status.has_value();
    });
    return status;
  }

  Status count(PickleValue segments, PickleValue traces) {
    std::map<std::uint32_t, SnapshotDevice> devices;
    std::uint32_t number = 0;
    pickle_.each(traces, [&](PickleValue events) {
      if (pickle_.size(events) > 0) devices[number].events = pickle_.size(events);
      return ++number < most_devices;
    });
    HEADROOM_CHECK(for_each(segments, [&](PickleValue segment) -> Status {
      ++devices[device_of(segment)].segments;
      return Done{};
    }));
    spent_ = 0;
    for (auto& [device, facts] : devices) {
      facts.device = device;
      result_.devices.push_back(facts);
    }
    return Done{};
  }

  std::uint32_t device_of(PickleValue segment) const {
    const auto device = pickle_.to_unsigned(pickle_.field(segment, "device"));
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(device.value_or(0), most_devices));
  }

  Status choose(std::optional<std::uint32_t> wanted) {
    const auto& devices = result_.devices;
    if (devices.empty()) return wrong("the snapshot has no segments and no events of any device");
    if (!wanted) {
      const auto most = std::max_element(
          devices.begin(), devices.end(), [](const SnapshotDevice& a, const SnapshotDevice& b) {
            return std::pair{a.events, a.segments} < std::pair{b.events, b.segments};
          });
      result_.snapshot.device = most->device;
      return Done{};
    }
    std::string others;
    for (const SnapshotDevice& device : devices) {
      if (device.device == *wanted) {
        result_.snapshot.device = *wanted;
        return Done{};
      }
      others += fmt::format("{}{}", others.empty() ? "" : ", ", device.device);
    }
    return Error{Errc::not_found,
                 fmt::format("the snapshot has nothing of device {}; it has {}", *wanted, others),
                 fmt::format("--device {}", devices.front().device)};
  }

  Status read_events(PickleValue traces) {
    std::uint32_t number = 0;
    PickleValue events;
    pickle_.each(traces, [&](PickleValue list) {
      if (number == result_.snapshot.device) events = list;
      return number++ < result_.snapshot.device;
    });
    if (pickle_.size(events) > pickle_.container_count())
      return wrong("the snapshot repeats the same events");
    result_.snapshot.events.reserve(pickle_.size(events));
    return for_each(events, [&](PickleValue event) { return read_event(event); });
  }

  Status read_event(PickleValue event) {
    const auto [action, address, free, bytes, stream, time, frames] = pickle_.fields(
        event, Keys<7>{"action", "addr", "device_free", "size", "stream", "time_us", "frames"});
    const auto name = pickle_.to_text(action);
    const std::size_t place = result_.snapshot.events.size();
    if (!name) return wrong(fmt::format("event {} of the snapshot has no action", place));
    const auto known = std::find_if(actions.begin(), actions.end(),
                                    [&](const Named& named) { return named.name == *name; });
    // From a later torch, or a mark that the program set.
    if (known == actions.end()) return Done{};
    SnapshotEvent read;
    read.action = known->action;
    const bool oom = read.action == SnapshotAction::oom;
    const auto where = pickle_.to_unsigned(oom ? free : address);
    const auto size = pickle_.to_unsigned(bytes);
    const bool needs_both = read.action != SnapshotAction::snapshot;
    if (needs_both && (!where || !size))
      return wrong(fmt::format("event {} of the snapshot, {}, has no {}", place, *name,
                               !size ? "size"
                               : oom ? "device_free"
                                     : "addr"));
    read.address = where.value_or(0);
    read.bytes = size.value_or(0);
    read.stream = pickle_.to_unsigned(stream).value_or(0);
    read.time_us = pickle_.to_unsigned(time).value_or(0);
    read.owner = owners_.owner_of(frames);
    result_.snapshot.events.push_back(read);
    return Done{};
  }

  Status read_segments(PickleValue segments) {
    return for_each(segments, [&](PickleValue segment) {
      return device_of(segment) == result_.snapshot.device ? read_segment(segment) : Status{Done{}};
    });
  }

  Status read_segment(PickleValue segment) {
    const auto [address, bytes, stream, expandable, blocks] = pickle_.fields(
        segment, Keys<5>{"address", "total_size", "stream", "is_expandable", "blocks"});
    const auto where = pickle_.to_unsigned(address);
    const auto size = pickle_.to_unsigned(bytes);
    if (!where || !size)
      return wrong(fmt::format("segment {} of the snapshot has no {}",
                               result_.snapshot.segments.size(), where ? "total_size" : "address"));
    result_.snapshot.segments.push_back({*where, *size, pickle_.to_unsigned(stream).value_or(0),
                                         pickle_.to_bool(expandable).value_or(false)});
    std::uint64_t next = *where;
    return for_each(blocks, [&](PickleValue block) { return read_block(block, next); });
  }

  // `next` is the block's address if the block has none (torch 2.0); it then becomes the next
  // block's.
  Status read_block(PickleValue block, std::uint64_t& next) {
    const auto [address, bytes, requested, state, frames] =
        pickle_.fields(block, Keys<5>{"address", "size", "requested_size", "state", "frames"});
    const auto size = pickle_.to_unsigned(bytes);
    const auto words = pickle_.to_text(state);
    auto& segment = result_.snapshot.segments.back();
    if (!size || !words)
      return wrong(fmt::format("block {} of segment {} of the snapshot has no {}",
                               segment.blocks.size(), result_.snapshot.segments.size() - 1,
                               size ? "state" : "size"));
    SnapshotBlock read;
    read.address = pickle_.to_unsigned(address).value_or(next);
    read.size_bytes = *size;
    read.requested_bytes = pickle_.to_unsigned(requested).value_or(*size);
    // Otherwise it is "active_pending_free" or "active_awaiting_free", depending on the version.
    if (*words == "active_allocated") {
      read.state = SnapshotBlockState::active_allocated;
    } else if (words->starts_with("active_")) {
      read.state = SnapshotBlockState::active_awaiting_free;
    }
    read.owner = owners_.owner_of(frames);
    next = read.address + read.size_bytes;
    segment.blocks.push_back(read);
    return Done{};
  }

  const Pickle& pickle_;
  SnapshotReading result_;
  SnapshotOwners owners_;
  std::uint64_t spent_ = 0;
};

}  // namespace

Result<SnapshotReading> read_snapshot(std::string_view text, std::optional<std::uint32_t> device) {
  HEADROOM_TRY(const Pickle pickle, parse_pickle(text));
  return Reader(pickle).run(device);
}

}  // namespace headroom::allocator
