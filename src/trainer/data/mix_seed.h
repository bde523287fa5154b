// SPDX-License-Identifier: Apache-2.0
// Independent seeds for the different uses of a job's one seed.
#pragma once

#include <cstdint>

namespace headroom::trainer {

// Mixes numbers into one seed, so that different uses of a job's seed are independent (splitmix64).
constexpr std::uint64_t mix_seed(std::uint64_t seed, std::uint64_t use) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15U * (use + 1);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

}  // namespace headroom::trainer
