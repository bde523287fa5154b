// SPDX-License-Identifier: Apache-2.0
// The loops for any processor of the architecture; CMakeLists.txt says with which options.
#include "trainer/kernels/available.h"
#include "trainer/kernels/kernel_table.h"

namespace headroom::trainer::kernels {

const Kernels& kernels_portable() {
  static constexpr Kernels table = make_table("portable");
  return table;
}

}  // namespace headroom::trainer::kernels
