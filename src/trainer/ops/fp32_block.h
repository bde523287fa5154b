// SPDX-License-Identifier: Apache-2.0
// The numbers of a tensor in fp32, as many at a time as a block holds: the tensor's own where it is
// fp32, else copies, so that what half types store is computed in fp32 and rounded once.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>

#include "base/require.h"

namespace headroom::trainer::ops {

class Fp32Block {
 public:
  // Allocates a block of `most` numbers, or of all if there are fewer; in fp32 none. Requires:
  // `tensor` is contiguous, on the CPU, and no wider than fp32.
  Fp32Block(const at::Tensor& tensor, std::int64_t most)
      : numbers_(tensor.view({-1})),
        most_(tensor.scalar_type() == at::kFloat ? tensor.numel()
                                                 : std::min(most, tensor.numel())) {
    require(tensor.scalar_type() != at::kDouble, "optimizers but AdamW compute in fp32");
    if (tensor.scalar_type() != at::kFloat)
      block_ = at::empty({most_}, tensor.options().dtype(at::kFloat));
  }

  // How many numbers may be loaded at once.
  std::int64_t most() const { return most_; }

  // The numbers [first, first + count), until others are loaded. Requires: count ≤ most().
  float* load(std::int64_t first, std::int64_t count) {
    if (!block_.defined()) return numbers_.data_ptr<float>() + first;
    block_.narrow(0, 0, count).copy_(numbers_.narrow(0, first, count));
    return block_.data_ptr<float>();
  }

  // Writes back what load() gave and was changed.
  void store(std::int64_t first, std::int64_t count) {
    if (block_.defined()) numbers_.narrow(0, first, count).copy_(block_.narrow(0, 0, count));
  }

 private:
  at::Tensor numbers_;
  at::Tensor block_;  // Undefined: the tensor is fp32.
  std::int64_t most_;
};

}  // namespace headroom::trainer::ops
