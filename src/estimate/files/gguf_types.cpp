// SPDX-License-Identifier: Apache-2.0
#include "estimate/files/gguf_types.h"

#include <algorithm>
#include <array>

namespace headroom::estimate {
namespace {

constexpr std::uint64_t k = 256;  // QK_K: a super-block of the K- and I-quants.

// 4 and 5 (Q4_2, Q4_3), 31 to 33 (Q4_0_4_4 …) and 36 to 38 (IQ4_NL_4_4 …) were removed.
constexpr std::array<GgmlType, 35> types = {{
    {0, "F32", 1, 4},
    {1, "F16", 1, 2},
    {2, "Q4_0", 32, 2 + 16},
    {3, "Q4_1", 32, 4 + 16},
    {6, "Q5_0", 32, 2 + 4 + 16},
    {7, "Q5_1", 32, 4 + 4 + 16},
    {8, "Q8_0", 32, 2 + 32},
    {9, "Q8_1", 32, 4 + 32},
    {10, "Q2_K", k, 4 + k / 16 + k / 4},
    {11, "Q3_K", k, 2 + k / 4 + k / 8 + 12},
    {12, "Q4_K", k, 4 + 12 + k / 2},
    {13, "Q5_K", k, 4 + 12 + k / 2 + k / 8},
    {14, "Q6_K", k, 2 + k / 16 + 3 * k / 4},
    {15, "Q8_K", k, 4 + k + 2 * (k / 16)},
    {16, "IQ2_XXS", k, 2 + k / 4},
    {17, "IQ2_XS", k, 2 + k / 4 + k / 32},
    {18, "IQ3_XXS", k, 2 + 3 * (k / 8)},
    {19, "IQ1_S", k, 2 + k / 8 + k / 16},
    {20, "IQ4_NL", 32, 2 + 16},
    {21, "IQ3_S", k, 2 + 13 * (k / 32) + k / 64},
    {22, "IQ2_S", k, 2 + k / 4 + k / 16},
    {23, "IQ4_XS", k, 2 + 2 + k / 64 + k / 2},
    {24, "I8", 1, 1},
    {25, "I16", 1, 2},
    {26, "I32", 1, 4},
    {27, "I64", 1, 8},
    {28, "F64", 1, 8},
    {29, "IQ1_M", k, k / 8 + k / 16 + k / 32},
    {30, "BF16", 1, 2},
    {34, "TQ1_0", k, 2 + k / 64 + (k - 4 * k / 64) / 5},
    {35, "TQ2_0", k, 2 + k / 4},
    {39, "MXFP4", 32, 1 + 16},
    {40, "NVFP4", 64, 4 + 32},
    {41, "Q1_0", 128, 2 + 16},
    {42, "Q2_0", 64, 2 + 16},
}};

}  // namespace

const GgmlType* find_ggml_type(std::uint64_t id) {
  const auto* const found =
      std::find_if(types.begin(), types.end(), [&](const GgmlType& type) { return type.id == id; });
  return found == types.end() ? nullptr : &*found;
}

}  // namespace headroom::estimate
