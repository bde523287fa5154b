// SPDX-License-Identifier: Apache-2.0
// The operations of a step one by one, as the trainer calls them (estimate/work.h says which).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "estimate/rates.h"
#include "estimate/work.h"
#include "trainer/calibration/pool.h"

namespace headroom::trainer::calibration {

// The sizes at which an operation is measured. Empty: this trainer does not have it.
estimate::Grid::Axes axes_of(estimate::Operation operation);

// A function that does the operation once, on the next operands of the pool. One of attention does
// it for `heads_at_once` heads.
inline constexpr std::int64_t heads_at_once = 4;
std::function<void()> make_operation(estimate::Operation operation,
                                     const std::array<std::uint64_t, 3>& size, Pool& pool);

}  // namespace headroom::trainer::calibration
