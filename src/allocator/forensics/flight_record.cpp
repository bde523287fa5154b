// SPDX-License-Identifier: Apache-2.0
#include "allocator/forensics/flight_record.h"

#include "base/bytes.h"

namespace headroom::allocator {

FlightLayout layout_of(const FlightHeader& header) {
  FlightLayout layout;
  layout.names = flight_header_bytes;
  // Shards begin at a cache line of their own, records at a page.
  layout.shards = round_up(layout.names + header.name_bytes, flight_shard_bytes);
  layout.records = round_up(layout.shards + header.shards * flight_shard_bytes, 4096);
  layout.end = layout.records + header.shards * header.shard_records * flight_record_bytes;
  return layout;
}

}  // namespace headroom::allocator
