// SPDX-License-Identifier: Apache-2.0
// Which kinds of kernels were compiled. Whether the processor has their instructions is asked in
// kernels.cpp alone.
#pragma once

#include "trainer/kernels/kernels.h"

namespace headroom::trainer::kernels {

#if defined(__x86_64__)
const Kernels& kernels_avx512();
const Kernels& kernels_avx2();
#endif
const Kernels& kernels_portable();

}  // namespace headroom::trainer::kernels
