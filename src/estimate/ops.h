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
            Name name);  // x itself if it is that already.
Tensor add(Tape& tape, const Tensor& a, const Tensor& b, Name name);
Tensor subtract(Tape& tape, const Tensor& a, const Tensor& b, Name name);  // Negates b's gradient.
Tensor add_in_place(Tape& tape, const Tensor& a, const Tensor& b);  // Into a, which is as large.
Tensor mul(Tape& tape, const Tensor& a, const Tensor& b, Name name);
Tensor scale(Tape& tape, const Tensor& x,
             Name name);  // x times a number; also neg(x).
Tensor square(Tape& tape, const Tensor& x, Name name);
Tensor rsqrt(Tape& tape, const Tensor& x, Name name);
Tensor silu(Tape& tape, const Tensor& x, Name name);
Tensor gelu(Tape& tape, const Tensor& x, Name name);  // Either of PyTorch's kernels.
Tensor relu(Tape& tape, const Tensor& x, Name name);  // These three save their result.
Tensor tanh(Tape& tape, const Tensor& x, Name name);
Tensor sigmoid(Tape& tape, const Tensor& x, Name name);
Tensor cube(Tape& tape, const Tensor& x, Name name);  // x³
Tensor exp(Tape& tape, const Tensor& x, Name name);   // Saves its result.
// masked_fill by a mask that is made before; its derivative fills a copy of the gradient.
Tensor masked_fill(Tape& tape, const Tensor& x, const Tensor& mask, Name name);
// cumsum over one dimension; its derivative turns the gradient around, sums, and turns it back.
Tensor cumsum(Tape& tape, const Tensor& x, Name name);
// x under a larger shape of as many dimensions, of which some entries are repeated: a copy, whose
// derivative is a sum.
Tensor repeat(Tape& tape, const Tensor& x, const Shape& repeated, Name name);
Tensor dropout(Tape& tape, const Tensor& x, double probability,
               Name name);  // x itself if 0.

// Over the last dimension.
Tensor mean_last(Tape& tape, const Tensor& x,
                 Name name);                              // Keeps the dimension, as 1.
Tensor mean_all(Tape& tape, const Tensor& x, Name name);  // A scalar.
// Both save their output. Softmax gives its result in `element`; its backward first makes the
// product of it with the gradient (native/cuda/SoftMax.cu, softmax_backward_cuda_out),
// log_softmax's needs nothing but its result.
Tensor softmax(Tape& tape, const Tensor& x, Element element, Name name);
Tensor log_softmax(Tape& tape, const Tensor& x, Name name);

// LayerNorm over the last dimension: also keeps the mean and the reciprocal deviation of each row.
Tensor layer_norm(Tape& tape, const Tensor& x, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, Name name);
// RMSNorm as one kernel (Liger, Unsloth): keeps x and the reciprocal deviation of each row.
Tensor fused_rms_norm(Tape& tape, const Tensor& x, const Tensor& weight, Name name);

// Shapes.
// Some of x under a shape of its own, a view; its backward is a padded copy, as large as x.
Tensor part_of(const Tape& tape, const Tensor& x, const Shape& shape);
// The same, of the first `size` entries of one dimension.
Tensor narrow(const Tape& tape, const Tensor& x, std::size_t dimension, std::uint64_t size);
Tensor narrow_last(const Tape& tape, const Tensor& x, std::uint64_t size);
// F.pad: a copy also where nothing is padded, and so is its derivative.
Tensor pad(Tape& tape, const Tensor& x, const Shape& to, Name name);
// torch.cat of parts whose gradients are views of its own.
Tensor join(Tape& tape, const std::vector<Tensor>& parts, Shape whole, Name name);
// torch.split or chunk over the last dimension: views, whose gradients are held until all of them
// are there, and then joined.
std::vector<Tensor> split_last(const Tape& tape, const Tensor& x,
                               const std::vector<std::uint64_t>& sizes);
Tensor concat_last(Tape& tape, const Tensor& a, const Tensor& b, Name name);
Tensor copy(Tape& tape, const Tensor& x, Shape shape,
            Name name);  // contiguous(), a sliced copy.
// A copy whose dimensions lie in another order in memory; its gradient is copied back.
Tensor relayout(Tape& tape, const Tensor& x, Name name);
// Chosen rows (an index, a topk): a copy of that shape; its backward is a whole gradient.
Tensor take(Tape& tape, const Tensor& x, Shape shape, Name name);
// A row [hidden] before the rows of x [batch, n, hidden].
Tensor prepend(Tape& tape, const Tensor& x, const Tensor& row, Name name);
// T5's bias on the scores [batch, heads, queries, keys], from its table [buckets, heads].
Tensor positions_from(Tape& tape, const Tensor& table, const Meta& scores);
// Averages of neighbouring rows of x [batch, n, hidden]: an image's channels are put first for it.
Tensor average_rows(Tape& tape, const Tensor& x, std::uint64_t rows, Name name);
// x [batch, n, hidden] with `rows` [m, hidden] in the place of some of its own (masked_scatter).
Tensor scatter_rows(Tape& tape, const Tensor& x, const Tensor& rows, Name name);
// index_add_: the sum's memory takes the rows in; nothing new is made.
Tensor add_rows_in_place(const Tape& tape, const Tensor& sum, const Tensor& rows, bool keeps_rows);
Tensor repeat_heads(Tape& tape, const Tensor& x, Shape repeated,
                    Name name);  // x itself if nothing repeats.

// Products. linear: x [..., in], weight [out, in], bias [out] or nothing. matmul: batched, `shape`
// is the output's.
Tensor linear(Tape& tape, const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
              Name name);
Tensor matmul(Tape& tape, const Tensor& a, const Tensor& b, Shape shape, Name name);
Tensor embedding(Tape& tape, const Tensor& ids, const Tensor& weight, Name name);
// The same of a table that lies on its side, weight [width, vocabulary]: a leaf's gradient is
// copied into the leaf's own layout (accumulate_grad.h).
Tensor embedding_of_columns(Tape& tape, const Tensor& ids, const Tensor& weight, Name name);
// x → `output`, by a kernel that needs nothing beside its operands (a convolution).
struct ConvolutionWeights {
  Tensor weight;
  std::optional<Tensor> bias;
};
Tensor convolution(Tape& tape, const Tensor& x, const ConvolutionWeights& weights,
                   const Meta& output, Name name);

// The mean negative log likelihood of log-probabilities [N, V]: a scalar.
Tensor nll_loss(Tape& tape, const Tensor& log_probabilities);
// Cross entropy as a kernel that writes the gradient over the logits [N, V] (Unsloth).
Tensor in_place_cross_entropy(Tape& tape, const Tensor& logits);
// The head's product and cross entropy in chunks, the gradients of hidden [N, H] and of the weight
// made in the forward (Liger, ops/fused_linear_cross_entropy.py).
Tensor fused_linear_cross_entropy(Tape& tape, const Tensor& hidden, const Tensor& weight);

// FlashAttention-2 on q [B, nh, S, d] and k, v [B, kv, S, d]: saves them, the output and the
// log-sum-exp; backward keeps an fp32 accumulator for dq, of whole tiles, and dk, dv for every
// query head (flash_api.cpp, mha_bwd).
Tensor flash_attention(Tape& tape, const Tensor& q, const Tensor& k, const Tensor& v);
// The memory-efficient kernel (native/transformers/cuda/attention.cu and attention_backward.cu)
// saves the same and its mask, an undefined tensor where there is none. A mask that wants a
// gradient has one for each sample, whose rows are of whole tiles, and is given their sum.
Tensor efficient_attention(Tape& tape, const Tensor& q, const Tensor& k, const Tensor& v,
                           const Tensor& mask = {});

// torch.utils.checkpoint: runs `function` without gradients and keeps only its inputs; backward
// runs it again.
using Function = std::function<Tensor(Tape&, const std::vector<Tensor>&)>;
// The reentrant kind is a function of Python's, which has a name for the gradient that it is given.
Tensor checkpoint(Tape& tape, const std::vector<Tensor>& inputs, const Function& function,
                  bool reentrant = false);

}  // namespace headroom::estimate::ops
