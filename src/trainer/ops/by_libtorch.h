// SPDX-License-Identifier: Apache-2.0
// Where libtorch's own operations compute and not the loops of kernels/: on a GPU. A test can ask
// for them on the processor, so that what a GPU would compute is compared without one.
#pragma once

#include <ATen/core/Tensor.h>

namespace headroom::trainer::ops {

bool is_by_libtorch(const at::Device& device);
inline bool is_by_libtorch(const at::Tensor& tensor) {
  return is_by_libtorch(tensor.device());
}

// While one exists, libtorch computes everything. For tests. Any thread may look meanwhile.
class WithoutKernels {
 public:
  WithoutKernels();
  ~WithoutKernels();
  WithoutKernels(const WithoutKernels&) = delete;
  WithoutKernels& operator=(const WithoutKernels&) = delete;
};

}  // namespace headroom::trainer::ops
