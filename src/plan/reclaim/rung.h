// SPDX-License-Identifier: Apache-2.0
// The ways to get GPU memory back, from gentle to harsh. Only those up to the one that was asked
// for are ever taken, in this order, and none after the first that suffices.
#pragma once

#include <array>
#include <string_view>

#include "base/result.h"

namespace headroom::plan {

enum class Rung {
  name,           // Says who holds the memory; changes nothing.
  ask,            // SIGTERM, and waits.
  insist,         // SIGKILL, and waits.
  wait_kfd,       // Waits until the compute driver has let go of dead processes.
  empty_pool,     // Has the kernel give back pages that TTM keeps for the next allocation.
  stop_service,   // Stops the unit or container that would start the holder again.
  unbind_bind,    // Takes the driver off the GPU and puts it back.
  module_reload,  // Unloads the driver and loads it again.
  driver_reset,   // Has the driver reset the GPU.
  reboot,         // Only ever told.
};

constexpr std::array<Rung, 10> all_rungs{Rung::name,        Rung::ask,           Rung::insist,
                                         Rung::wait_kfd,    Rung::empty_pool,    Rung::stop_service,
                                         Rung::unbind_bind, Rung::module_reload, Rung::driver_reset,
                                         Rung::reboot};

std::string_view to_string(Rung rung);  // "ask", "wait-kfd".
// Fails with invalid, naming the nearest one.
Result<Rung> parse_rung(std::string_view name);

}  // namespace headroom::plan
