// SPDX-License-Identifier: Apache-2.0
#include "faces/hip/device_memory.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.h"
#include "faces/settings.h"

namespace headroom::hip_face {
namespace {

// What the environment says of each card. If it makes no sense, it says nothing here; opening the
// allocator says so in words.
const faces::Totals& told_totals() {
  static const faces::Totals totals =
      faces::parse_totals(faces::read_variable(faces::totals_variable).value_or(""))
          .value_or(faces::Totals{});
  return totals;
}

// What the allocator may still give of the device; `free` is the runtime's figure.
std::uint64_t free_memory(headroom_allocator* allocator, std::uint64_t free) {
  headroom_usage usage = HEADROOM_USAGE_INIT;
  std::uint64_t room = 0;
  if (allocator == nullptr || headroom_get_usage(allocator, &usage) != HEADROOM_OK ||
      headroom_get_room(allocator, &room) != HEADROOM_OK)
    return free;
  const std::uint64_t idle =
      usage.reserved_bytes - std::min(usage.reserved_bytes, usage.live_bytes);
  return std::min(free + idle, room);
}

}  // namespace

std::uint64_t all_memory(const Process& all, int device, std::uint64_t told) {
  const faces::Totals& totals = told_totals();
  if (totals.empty() || all.runtime.pci_address == nullptr) return told;
  const Inside inside;
  std::array<char, 32> address{};
  if (all.runtime.pci_address(address.data(), static_cast<int>(address.size()) - 1, device) !=
      success)
    return told;
  const auto found = totals.find(to_lower(address.data()));
  return found == totals.end() ? told : std::min(told, found->second);
}

void correct_properties(const Process& all, void* properties, std::size_t place, int device) {
  if (properties == nullptr) return;
  char* const total = static_cast<char*>(properties) + place;
  std::size_t told = 0;
  std::memcpy(&told, total, sizeof told);
  const std::size_t most = all_memory(all, device, told);
  std::memcpy(total, &most, sizeof most);
}

void correct_memory_info(const Process& all, std::size_t* free, std::size_t* total) {
  int device = -1;
  if (free == nullptr || !all.runtime.is_usable() ||
      call(all.runtime.get_device, &device) != success)
    return;
  const Inside inside;
  *free = free_memory(all.gpus.get(device), *free);
  if (total == nullptr) return;
  const std::size_t most = all_memory(all, device, *total);
  if (most == *total) return;
  // What is in use, by whomever, is in use of what there really is.
  const std::size_t used = *total - std::min(*total, *free);
  *free = most - std::min(most, used);
  *total = most;
}

}  // namespace headroom::hip_face
