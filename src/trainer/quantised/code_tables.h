// SPDX-License-Identifier: Apache-2.0
// The numbers that the codes of bitsandbytes' formats stand for, between -1 and 1 and ascending.
#pragma once

#include <array>

namespace headroom::trainer::quantised {

// NF4: quantiles of a normal distribution, so that each of the 16 codes is as frequent as any other
// (Dettmers et al. 2023, QLoRA, appendix E). The digits are those of bitsandbytes: functional.py,
// get_4bit_type(); as fp32 they are the same numbers.
inline constexpr std::array<float, 16> nf4_values = {-1.0F,
                                                     -0.6961928009986877F,
                                                     -0.5250730514526367F,
                                                     -0.39491748809814453F,
                                                     -0.28444138169288635F,
                                                     -0.18477343022823334F,
                                                     -0.09105003625154495F,
                                                     0.0F,
                                                     0.07958029955625534F,
                                                     0.16093020141124725F,
                                                     0.24611230194568634F,
                                                     0.33791524171829224F,
                                                     0.44070982933044434F,
                                                     0.5626170039176941F,
                                                     0.7229568362236023F,
                                                     1.0F};

// The signed dynamic map of 8 bits (Dettmers 2015, 8-Bit Approximations for Parallelism in Deep
// Learning): seven powers of ten, each of them with twice as many steps as the smaller one, 0 and
// 1. As bitsandbytes: functional.py, create_dynamic_map(), computes it on a processor with fused
// multiply-add; on others some of its numbers differ in the last bit.
const std::array<float, 256>& dynamic_map();
// The same of numbers that are not negative, with twice as many steps.
const std::array<float, 256>& unsigned_dynamic_map();

}  // namespace headroom::trainer::quantised
