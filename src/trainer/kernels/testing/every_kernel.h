// SPDX-License-Identifier: Apache-2.0
// Every kind of kernels that this processor can run, beside what a test expects of them, and beside
// each other: those with fused multiply-add have to agree to the bit, whatever the width of a
// vector.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "trainer/kernels/kernels.h"

namespace headroom::trainer::kernels::testing {

using Values = std::vector<float>;

// Counts that leave every kind of rest at the end of a row.
inline constexpr std::int64_t counts[] = {1, 7, 15, 16, 17, 31, 33, 64, 100, 257};

inline Values random_values(std::int64_t count, unsigned seed, float scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  Values values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

// Runs `compute` with every kind of kernels: near `expected`, and the fused ones all alike.
template <class Compute>
void expect_all(const Compute& compute, const std::vector<double>& expected, double tolerance,
                const std::string& what) {
  const Available available = available_kernels();
  Values fused;
  for (std::size_t i = 0; i < available.count; ++i) {
    const Kernels& kernels = *available.list[i];
    const Values found = compute(kernels);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t j = 0; j < found.size(); ++j) {
      ASSERT_NEAR(found[j], expected[j], tolerance * std::max(1.0, std::abs(expected[j])))
          << kernels.name << ", " << what << ", number " << j;
    }
    if (!kernels.fused) continue;
    if (fused.empty()) fused = found;
    EXPECT_EQ(std::memcmp(found.data(), fused.data(), found.size() * sizeof(float)), 0)
        << kernels.name << " differs in a bit: " << what;
  }
}

}  // namespace headroom::trainer::kernels::testing
