// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/host_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "allocator/backend.h"
#include "base/bytes.h"
#include "machine/files.h"
#include "probe/read_memory_rooms.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t largest_grant = std::uint64_t{64} << 20U;
constexpr std::uint64_t part = 4;

Error no_room(const facts::MemoryRoom& room, std::uint64_t wanted, std::uint64_t held) {
  const std::uint64_t fits = round_down(held + room.room().value, page_bytes);
  return {Errc::out_of_memory,
          fmt::format("expected {} to be free, found {} left of the {} of {}, of which {} stay "
                      "free so that the kernel need not kill anything",
                      to_string(Bytes{wanted}), to_string(room.left), to_string(room.total),
                      room.whose, to_string(room.reserve)),
          fmt::format("make the job smaller (a [device] capacity of {} fits as things are), or "
                      "give {} more memory: ps aux --sort=-rss shows what else holds it",
                      to_string(Bytes{fits}), room.whose)};
}

}  // namespace

Result<HostMemory> HostMemory::of_this_machine() {
  HEADROOM_TRY(machine::Files opened, machine::Files::open("/"));
  const auto files = std::make_shared<machine::Files>(std::move(opened));
  return HostMemory([files] { return probe::read_memory_rooms(*files); });
}

Result<std::uint64_t> HostMemory::grant(std::uint64_t wanted, std::uint64_t held) {
  if (wanted > granted_) {
    const auto rooms = ask_();
    const facts::MemoryRoom* tightest = facts::tightest(rooms);
    if (tightest == nullptr) return wanted;
    const std::uint64_t room = tightest->room().value;
    if (wanted > room) return no_room(*tightest, wanted, held);
    const std::uint64_t most = std::min(room, tightest->reserve.value) / part;
    granted_ = round_down(std::clamp(most, page_bytes, largest_grant), page_bytes);
  }
  const std::uint64_t slice = std::min(wanted, granted_);
  granted_ -= slice;
  return slice;
}

Result<std::uint64_t> read_machine_room(Bytes kept) {
  HEADROOM_TRY(const machine::Files files, machine::Files::open("/"));
  auto rooms = probe::read_memory_rooms(files);
  for (facts::MemoryRoom& room : rooms)
    if (room.whose == "this machine") room.reserve = std::max(room.reserve, kept);
  if (const facts::MemoryRoom* tightest = facts::tightest(rooms)) return tightest->room().value;
  return Error{Errc::unsupported, "expected MemAvailable in /proc/meminfo, found none",
               "do without the machine's memory"};
}

}  // namespace headroom::allocator
