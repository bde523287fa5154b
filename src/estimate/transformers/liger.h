// SPDX-License-Identifier: Apache-2.0
// What Liger's Triton kernels allocate and keep, and which of them each family is given.
//
// Sources, linkedin/Liger-Kernel 0.8.5: src/liger_kernel/transformers/monkey_patch.py
// (MODEL_TYPE_TO_APPLY_LIGER_FN, apply_liger_kernel_to_…); ops/rms_norm.py, swiglu.py, geglu.py,
// rope.py, cross_entropy.py, fused_linear_cross_entropy.py. Kernels write gradients over what they
// were given wherever they can.
#pragma once

#include <string_view>

#include "base/result.h"
#include "estimate/models/architecture.h"
#include "estimate/transformers/linear.h"

namespace headroom::estimate::transformers {

// The kernels that a job runs with: none where it does not ask for them, or Liger has none for the
// family, or nothing is trained. Families whose kernels are not planned (experts, models that see)
// have none either.
LigerKernels liger_of(const Job& job, std::string_view family);
bool liger_patches(std::string_view family);

// Refuses another loss or norm beside them, TRL's preference trainers, whose Liger losses are not
// planned, and of liger_kernel_config what the family's function does not take.
Status check_liger(const Job& job, std::string_view family);

// x [..., width], weight [width] → x's type. Keeps x and one number a row. Where it works in place
// the gradient takes the place of the one it is given.
Tensor liger_rms_norm(Run& run, const Tensor& x, const Tensor& weight, Name name);

// act(gate) · up. Keeps both, and writes their gradients over them.
Tensor liger_glu(Tape& tape, const Tensor& gate, const Tensor& up, Name name);
// The same of two halves of one tensor [..., 2 inner], which are copied first.
Tensor liger_glu_of_halves(Tape& tape, const Tensor& both, Name name);

// The head's product and cross entropy of rows [n, width] in chunks, the gradients made with them.
Tensor liger_linear_cross_entropy(Run& run, const Tensor& rows, const Linear& head);

}  // namespace headroom::estimate::transformers
