// SPDX-License-Identifier: Apache-2.0
// The table of the loops above, for the file that includes it: compiled for one kind of processor.
#pragma once

#include "trainer/kernels/product_loops.h"
#include "trainer/kernels/row_loops.h"

namespace headroom::trainer::kernels {
// One copy for each of the files that include it, which are compiled with other options: they must
// not share one.
// NOLINTBEGIN(misc-definitions-in-headers)
namespace {

constexpr Kernels make_table(const char* name) {
  Kernels table;
  table.name = name;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  table.fused = true;
#endif
  table.pack = &pack;
  table.multiply = &multiply;
  table.softmax = &softmax;
  table.softmax_again = &softmax_again;
  table.soft_cap = &soft_cap;
  table.weigh = &weigh;
  table.subtract_and_weigh = &subtract_and_weigh;
  table.dot = &dot;
  table.rms_norm = &rms_norm;
  table.rms_norm_backward = &rms_norm_backward;
  table.add_norm_weight = &add_norm_weight;
  table.layer_norm = &layer_norm;
  table.layer_norm_backward = &layer_norm_backward;
  table.add_layer_norm_weights = &add_layer_norm_weights;
  table.rotate = &rotate;
  table.swiglu = &swiglu;
  table.swiglu_backward = &swiglu_backward;
  table.geglu = &geglu;
  table.geglu_backward = &geglu_backward;
  table.gelu = &gelu;
  table.gelu_backward = &gelu_backward;
  table.adamw = &adamw;
  table.sgd = &sgd;
  table.move_weighed = &move_weighed;
  table.add_squares = &add_squares;
  table.sum_of_weighed_squares = &sum_of_weighed_squares;
  table.sum_of_squares = &sum_of_squares;
  return table;
}

}  // namespace
// NOLINTEND(misc-definitions-in-headers)
}  // namespace headroom::trainer::kernels
