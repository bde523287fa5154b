// SPDX-License-Identifier: Apache-2.0
#include "cli/host_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/bytes.h"
#include "machine/files.h"
#include "probe/read_memory_rooms.h"

namespace headroom::cli {
namespace {

// `offloaded`: of the peak, what the device's capacity does not limit.
Error beyond_what_is_left(Bytes peak, Bytes offloaded, const facts::MemoryRoom& room) {
  return {Errc::out_of_memory,
          fmt::format("warning: the job's peak of {} is more than {} has now: {} of {} is left, of "
                      "which {} stays free",
                      to_string(peak), room.whose, to_string(room.left), to_string(room.total),
                      to_string(room.reserve)),
          fmt::format("end other programs that hold memory (ps aux --sort=-rss lists them), or "
                      "plan with what is left: [device] capacity = \"{}\"",
                      to_string(saturating_sub(room.room(), offloaded)))};
}

Error beyond_what_there_is(Bytes capacity, const facts::MemoryRoom& room) {
  return {
      Errc::out_of_memory,
      fmt::format("warning: the job's capacity of {} is more than {} can ever give: it has {}, of "
                  "which {} stays free",
                  to_string(capacity), room.whose, to_string(room.total), to_string(room.reserve)),
      fmt::format("[device] capacity = \"{}\"", to_string(room.most()))};
}

}  // namespace

std::optional<Error> warn_of_host_memory(const estimate::Plan& plan,
                                         const std::vector<facts::MemoryRoom>& rooms) {
  if (plan.job.engine.kind != estimate::EngineKind::headroom || rooms.empty()) return std::nullopt;
  const facts::MemoryRoom& now = *facts::tightest(rooms);
  // Where no GPU is, what is offloaded is beside the rest.
  const Bytes offloaded{plan.host.bytes};
  const Bytes peak = Bytes{plan.device_bytes} + offloaded;
  if (peak > now.room()) return beyond_what_is_left(peak, offloaded, now);
  const auto smallest = std::min_element(
      rooms.begin(), rooms.end(), [](const auto& a, const auto& b) { return a.most() < b.most(); });
  if (plan.capacity_bytes && Bytes{*plan.capacity_bytes} > smallest->most())
    return beyond_what_there_is(Bytes{*plan.capacity_bytes}, *smallest);
  return std::nullopt;
}

std::optional<Error> warn_of_host_memory(const estimate::Plan& plan) {
  if (plan.job.engine.kind != estimate::EngineKind::headroom) return std::nullopt;
  const auto files = machine::Files::open("/");
  if (!files) return std::nullopt;
  return warn_of_host_memory(plan, probe::read_memory_rooms(*files));
}

}  // namespace headroom::cli
