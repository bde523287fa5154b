// SPDX-License-Identifier: Apache-2.0
#include "trainer/kernels/kernels.h"

#include "trainer/kernels/available.h"

namespace headroom::trainer::kernels {

// By what the processor says that it can do, never by its model: a model that is newer than the
// program has all that it says.
Available available_kernels() {
  Available available;
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  const bool avx512 =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  if (avx2 && avx512) available.list[available.count++] = &kernels_avx512();
  if (avx2) available.list[available.count++] = &kernels_avx2();
#endif
  available.list[available.count++] = &kernels_portable();
  return available;
}

const Kernels& kernels() {
  static const Kernels& chosen = *available_kernels().list[0];
  return chosen;
}

}  // namespace headroom::trainer::kernels
