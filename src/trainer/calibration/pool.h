// SPDX-License-Identifier: Apache-2.0
// Operands for measuring: slices of one large piece of memory, each behind the one before, so that
// an operation finds its operands as a step does: last touched long ago, outside of the cache.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace headroom::trainer::calibration {

class Pool {
 public:
  // Allocates `parts` times 2^20 numbers of the dtype.
  Pool(std::int64_t parts, at::ScalarType dtype)
      : fresh_(at::empty({part}, dtype).uniform_(-1, 1)),
        memory_(at::empty({parts * part}, dtype)) {
    refresh();
  }

  // Small numbers of either sign again: what is computed in place over and over would end as zeros
  // or as numbers without bound, which processors compute slower.
  void refresh() { memory_.view({-1, part}).copy_(fresh_); }

  // Contiguous. Requires: it has no more numbers than the pool.
  at::Tensor take(at::IntArrayRef shape) {
    constexpr std::int64_t line = 64;  // Numbers; a multiple of a cache line.
    const std::int64_t numbers = c10::multiply_integers(shape);
    if (next_ + numbers > memory_.numel()) next_ = 0;
    at::Tensor slice = memory_.narrow(0, next_, numbers).view(shape);
    next_ += (numbers + line - 1) / line * line;
    if (next_ > memory_.numel()) next_ = 0;
    return slice;
  }

  at::ScalarType dtype() const { return memory_.scalar_type(); }

 private:
  static constexpr std::int64_t part = std::int64_t{1} << 20U;
  at::Tensor fresh_;
  at::Tensor memory_;
  std::int64_t next_ = 0;
};

}  // namespace headroom::trainer::calibration
