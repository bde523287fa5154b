// SPDX-License-Identifier: Apache-2.0
// A claim that a program's figure for free memory is wrong, with the lines that contradict each
// other. For the rule free-memory-misreported.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "findings/causes/device_memory.h"

namespace headroom::findings {

struct FigureClaim {
  double sure = 0;  // 0: there is nothing to claim.
  std::string title, reason;
  std::vector<const logs::Observation*> lines;
};

inline void keep_surest(FigureClaim& claim, FigureClaim other) {
  if (other.sure > claim.sure) claim = std::move(other);
}

// On an APU the program's figure is the available RAM, while HIP or the driver has more.
FigureClaim of_available_ram(const DeviceMemory& memory);

// A server that takes a share of an APU's memory as of a card's, while the system runs out of it.
FigureClaim of_share_of_shared_memory(const LogSubject& subject, const DeviceMemory& memory);

// HIP counts the carve-out of an APU alone, and the driver lets the GPU use much more of the RAM.
FigureClaim of_carve_out_alone(const DeviceMemory& memory);

// A program that has just started finds next to nothing free of an APU's large memory.
FigureClaim of_little_at_start(const LogSubject& subject, const DeviceMemory& memory);

// An APU has no memory but the machine's, so a program that counts more adds up what overlaps.
FigureClaim of_more_than_ram(const LogSubject& subject, const DeviceMemory& memory);

}  // namespace headroom::findings
