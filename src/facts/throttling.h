// SPDX-License-Identifier: Apache-2.0
// Why the GPU's own controller holds its clocks back at this moment, from the binary file
// gpu_metrics. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "facts/text_facts.h"

namespace headroom::facts {

struct Throttling {
  bool power = false;
  bool current = false;
  bool temperature = false;
  bool other = false;

  bool any() const { return power || current || temperature || other; }
  bool operator==(const Throttling&) const = default;
};

// "power, temperature"; empty: nothing holds it back.
std::string to_string(const Throttling& throttling);

// The field indep_throttle_status of gpu_metrics 1.3 (discrete cards from RDNA 2 on) and 2.2 to 2.4
// (APUs), in little-endian order (drivers/gpu/drm/amd/include/kgd_pp_interface.h); its groups of
// bits are those of amdgpu_smu.h. Other revisions have no field that means the same on every chip:
// not_applicable, with the revision. All bits set is what the driver writes where it knows nothing:
// not_present.
Fact<Throttling> parse_throttling(const Text& metrics);

}  // namespace headroom::facts
