// SPDX-License-Identifier: Apache-2.0
// PyTorch's operations as a Tape sees them: what each allocates, what it saves for backward and who
// needs it (tools/autograd/derivatives.yaml and gen_variable_type.py: an operand is saved only if
// the other one wants a gradient), and what its backward allocates, in order. `name` names the
// output.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimate/tape.h"

namespace headroom::estimate::ops {

// Elementwise. Broadcasting is by shape from the right; the output has the larger shape and, of two
// element types, the wider one.
Tensor cast(Tape& tape, const Tensor& x, Element element,
            const std::string& name);  // x itself if it is that already.
Tensor add(Tape& tape, const Tensor& a, const Tensor& b, const std::string& name);
Tensor mul(Tape& tape, const Tensor& a, const Tensor& b, const std::string& name);
Tensor scale(Tape& tape, const Tensor& x,
             const std::string& name);  // x times a number; also neg(x).
Tensor square(Tape& tape, const Tensor& x, const std::string& name);
Tensor rsqrt(Tape& tape, const Tensor& x, const std::string& name);
Tensor silu(Tape& tape, const Tensor& x, const std::string& name);
Tensor dropout(Tape& tape, const Tensor& x, double probability,
               const std::string& name);  // x itself if 0.

// Over the last dimension.
Tensor mean_last(Tape& tape, const Tensor& x,
                 const std::string& name);  // Keeps the dimension, as 1.
Tensor softmax(Tape& tape, const Tensor& x,
               const std::string& name);  // Also log_softmax: saves its output.

// Shapes.
Tensor narrow_last(const Tape& tape, const Tensor& x,
                   std::uint64_t size);  // A view; its backward is a padded copy.
Tensor concat_last(Tape& tape, const Tensor& a, const Tensor& b, const std::string& name);
Tensor copy(Tape& tape, const Tensor& x, Shape shape,
            const std::string& name);  // contiguous(), a sliced copy.
Tensor repeat_heads(Tape& tape, const Tensor& x, Shape repeated,
                    const std::string& name);  // x itself if nothing repeats.

// Products. linear: x [..., in], weight [out, in], bias [out] or nothing. matmul: batched, `shape`
// is the output's.
Tensor linear(Tape& tape, const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
              const std::string& name);
Tensor matmul(Tape& tape, const Tensor& a, const Tensor& b, Shape shape, const std::string& name);
Tensor embedding(Tape& tape, const Tensor& ids, const Tensor& weight, const std::string& name);

// The mean negative log likelihood of log-probabilities [N, V]: a scalar.
Tensor nll_loss(Tape& tape, const Tensor& log_probabilities);

// FlashAttention-2 on q [B, nh, S, d] and k, v [B, kv, S, d]: saves them, the output and the
// log-sum-exp; backward keeps an fp32 accumulator for dq, and dk, dv for every query head
// (flash_api.cpp, mha_bwd).
Tensor flash_attention(Tape& tape, const Tensor& q, const Tensor& k, const Tensor& v);

// torch.utils.checkpoint: runs `function` without gradients and keeps only its input; backward runs
// it again.
using Function = std::function<Tensor(Tape&, const Tensor&)>;
Tensor checkpoint(Tape& tape, const Tensor& x, const Function& function);

}  // namespace headroom::estimate::ops
