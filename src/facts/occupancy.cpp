// SPDX-License-Identifier: Apache-2.0
#include "facts/occupancy.h"

namespace headroom::facts {

const Occupant* Occupancy::find(std::uint64_t pid) const {
  for (const Occupant& occupant : occupants) {
    if (occupant.pid == pid) return &occupant;
  }
  return nullptr;
}

const Screens* Occupancy::screens_of(const std::string& pci) const {
  for (const Screens& one : screens) {
    if (one.pci == pci) return &one;
  }
  return nullptr;
}

}  // namespace headroom::facts
