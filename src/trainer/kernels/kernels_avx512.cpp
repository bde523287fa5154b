// SPDX-License-Identifier: Apache-2.0
// The loops for processors with AVX-512 (F, BW, DQ, VL); CMakeLists.txt says with which options.
#include "trainer/kernels/available.h"

#if defined(__x86_64__)
#include "trainer/kernels/kernel_table.h"

namespace headroom::trainer::kernels {

const Kernels& kernels_avx512() {
  static constexpr Kernels table = make_table("avx512");
  return table;
}

}  // namespace headroom::trainer::kernels

#endif
