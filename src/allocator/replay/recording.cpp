// SPDX-License-Identifier: Apache-2.0
#include "allocator/replay/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace headroom::allocator {
namespace {

// No device has addresses from here on; below it, adding a size to an address does not overflow.
constexpr std::uint64_t max_address = std::uint64_t{1} << 63U;
constexpr std::uint32_t max_shards = 1024;
constexpr std::uint64_t max_records = std::uint64_t{1} << 32U;
constexpr std::uint64_t max_name_bytes = std::uint64_t{64} << 20U;

Error no_record(std::string_view found) {
  return {Errc::invalid,
          fmt::format("expected a flight recording (magic {}, version {}), found {}", flight_magic,
                      flight_version, found),
          "give the file that the allocator was told to record into"};
}

std::uint64_t read_u64(std::string_view bytes, std::size_t at) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

Result<FlightHeader> read_header(std::string_view bytes) {
  if (!is_flight_record(bytes)) return no_record("something else");
  if (bytes.size() < flight_header_bytes) return no_record("less than its header");
  FlightHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != flight_version) return no_record(fmt::format("version {}", header.version));
  if (header.shards == 0 || header.shards > max_shards)
    return no_record(fmt::format("{} shards", header.shards));
  if (!std::has_single_bit(header.shard_records) || header.shard_records > max_records)
    return no_record(fmt::format("a ring of {} records", header.shard_records));
  if (header.device_ring > header.shards)
    return no_record(
        fmt::format("ring {} of {} for the device", header.device_ring, header.shards));
  if (header.name_bytes > max_name_bytes)
    return no_record(fmt::format("{} bytes of names", header.name_bytes));
  if (const std::size_t end = layout_of(header).end; bytes.size() < end)
    return no_record(fmt::format("{} of its {} bytes", bytes.size(), end));
  return header;
}

void read_names(std::string_view region, std::vector<std::string>& names) {
  while (!region.empty() && region[0] != 0 && names.size() <= NameTable::max_names) {
    const auto length = static_cast<std::uint8_t>(region[0]);
    if (length >= region.size()) return;
    names.push_back(printable_name(region.substr(1, length)));
    region.remove_prefix(1U + length);
  }
}

class Shard {
 public:
  Shard(Recording& recording, std::string_view records)
      : recording_(recording), records_(records), count_(records.size() / flight_record_bytes) {}

  void read(std::uint64_t written) {
    std::uint64_t first = written > count_ ? written - count_ : 0;
    recording_.lost += first;
    for (std::uint64_t number = first; number < written; ++number) {
      // The oldest record may just be being overwritten, which does not count as damage.
      if (!add(number)) note(number, written >= count_ && number == first);
    }
    add(written);  // This record may be finished but not counted yet.
  }

 private:
  std::size_t place(std::uint64_t number) const {
    return static_cast<std::size_t>(number & (count_ - 1)) * flight_record_bytes;
  }
  std::uint64_t word(std::uint64_t number, std::size_t index) const {
    return read_u64(records_, place(number) + index * sizeof(std::uint64_t));
  }
  std::uint64_t mark(std::uint64_t number) const {
    return word(number, 0) & ~std::uint64_t{0xFFFFFFFF};
  }

  bool add(std::uint64_t number) {
    const std::uint64_t first = word(number, 0);
    if (mark(number) != flight_mark(number)) return false;
    const auto kind = (first >> 24U) & 0xFFU;
    const auto tag = (first >> 16U) & 0xFFU;
    if (kind == 0 || kind > last_flight_kind || tag >= component_count) return false;
    FlightEvent event;
    event.kind = static_cast<FlightKind>(kind);
    event.tag = static_cast<Component>(tag);
    event.stream = static_cast<StreamId>(first & 0xFFFFU);
    event.address = word(number, 1);
    if (event.address > max_address) return false;
    event.bytes = word(number, 2) >> 16U;
    if (event.kind == FlightKind::allocate && event.bytes == 0) return false;
    event.name = static_cast<NameId>(word(number, 2) & 0xFFFFU);
    const std::uint64_t last = word(number, 3);
    event.time_us = time_us_ = std::max(time_us_, last >> 20U);
    event.requested = event.bytes - std::min(event.bytes, last & 0xFFFFFU);
    recording_.events.push_back(event);
    return true;
  }
  void note(std::uint64_t number, bool oldest) {
    if (word(number, 0) == 0 && oldest)
      ++recording_.torn;
    else if (oldest && mark(number) == flight_mark(number + count_))
      ++recording_.lost;
    else
      ++recording_.damaged;
  }

  Recording& recording_;
  std::string_view records_;
  std::uint64_t count_;
  std::uint64_t time_us_ = 0;  // Never goes back, whatever a record says.
};

// Reads the device's ring first, so that its events come before those of blocks at the same moment.
void read_rings(Recording& recording, std::string_view bytes, const FlightHeader& header) {
  const FlightLayout layout = layout_of(header);
  const std::size_t ring_bytes = header.shard_records * flight_record_bytes;
  const auto read = [&](std::uint64_t ring) {
    const std::uint64_t written = read_u64(bytes, layout.shards + ring * flight_shard_bytes);
    Shard(recording, bytes.substr(layout.records + ring * ring_bytes, ring_bytes)).read(written);
  };
  if (header.device_ring > 0) {
    read(header.device_ring - 1);
    recording.device_events = recording.lost + recording.torn + recording.damaged == 0
                                  ? DeviceEvents::all
                                  : DeviceEvents::some;
  }
  for (std::uint64_t ring = 0; ring < header.shards; ++ring)
    if (ring + 1 != header.device_ring) read(ring);
}

}  // namespace

bool is_flight_record(std::string_view bytes) {
  return bytes.starts_with(flight_magic);
}

Result<Recording> parse_flight_record(std::string_view bytes) {
  HEADROOM_TRY(const FlightHeader header, read_header(bytes));
  const FlightLayout layout = layout_of(header);
  Recording recording;
  recording.capacity_bytes = header.capacity_bytes;
  recording.pid = header.pid;
  recording.pid_start = header.pid_start;
  recording.start_unix_us = header.start_unix_us;
  recording.closed = header.closed == 1;
  const std::string_view device(header.device.data(), header.device.size());
  recording.device = printable_name(device.substr(0, device.find('\0')));
  read_names(bytes.substr(layout.names, header.name_bytes), recording.names);
  read_rings(recording, bytes, header);
  const std::size_t known = recording.names.size();
  for (FlightEvent& event : recording.events) {
    if (event.name >= known) event.name = 0;
  }
  std::stable_sort(
      recording.events.begin(), recording.events.end(),
      [](const FlightEvent& a, const FlightEvent& b) { return a.time_us < b.time_us; });
  return recording;
}

}  // namespace headroom::allocator
