// SPDX-License-Identifier: Apache-2.0
// The loops for processors with AVX2 and FMA; CMakeLists.txt says with which options.
#include "trainer/kernels/available.h"

#if defined(__x86_64__)
#include "trainer/kernels/kernel_table.h"

namespace headroom::trainer::kernels {

const Kernels& kernels_avx2() {
  static constexpr Kernels table = make_table("avx2");
  return table;
}

}  // namespace headroom::trainer::kernels

#endif
