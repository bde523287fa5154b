// SPDX-License-Identifier: Apache-2.0
// The products: linear, matmul, embedding and the loss.
#include <algorithm>
#include <utility>

#include "estimate/ops.h"

namespace headroom::estimate::ops {
namespace {

// A product's result, and the workspace that comes and goes beside it.
Tensor product(Tape& tape, Name name, const Meta& meta) {
  Tensor result = tape.empty(name, meta);
  tape.multiply();
  return result;
}

// embedding_dense_backward (native/cuda/Embedding.cu, EmbeddingBackwardKernel.cu): beyond so many
// indices they are sorted, and the rows of each are summed in parts, whose number is bounded.
void sum_by_segments(Tape& tape, std::uint64_t count, const Meta& table, Name name) {
  constexpr std::uint64_t sorts_beyond = 3072;
  constexpr std::uint64_t rows_of_part = 10;  // NROWS_PER_THREAD
  if (count <= sorts_beyond) return;
  const Meta ids{{count}, Element::int64};
  const Tensor sorted = tape.empty(name + ".sorted", ids, Component::workspace);
  const Tensor origins = tape.empty(name + ".origins", ids, Component::workspace);
  const std::uint64_t segments = std::min(count, table.shape.front());
  const std::uint64_t parts = count / rows_of_part + segments;
  const Tensor sums = tape.empty(name + ".part_sums", {{parts, table.shape.back()}, Element::fp32},
                                 Component::workspace);
}

}  // namespace

Tensor linear(Tape& tape, const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
              Name name) {
  const Meta input = x.meta();
  const Meta matrix = weight.meta();
  Meta output = x.meta();
  output.shape.back() = weight.shape.front();
  Tensors inputs = {x, weight};
  if (bias) inputs.push_back(*bias);
  const bool later = bias && bias->viewed;  // Its own node sums the rows.
  Tensors saved;
  if (weight.requires_grad()) saved.push_back(x);
  if (x.requires_grad()) saved.push_back(weight);
  const Tensor y = tape.empty(name, output);
  tape.multiply(bias.has_value());
  return tape.connect(y, inputs, saved, [=](Tape& t, Tensor grad, const Node& node) -> Tensors {
    Tensors grads(node.inputs.size());
    if (node.wants(0)) grads[0] = product(t, name + ".input_grad", input);
    if (node.wants(1)) grads[1] = product(t, name + ".weight_grad", matrix);
    // Rows are flattened before the product and the weight is transposed for it (linear.cpp).
    grads[0].viewed = input.shape.size() > 2;
    grads[1].viewed = true;
    if (grads.size() > 2 && node.wants(2) && later) {
      grads[2] = std::move(grad);
    } else if (grads.size() > 2 && node.wants(2)) {
      const std::uint64_t columns = output.shape.back();
      grads[2] = t.empty(name + ".bias_grad", {{columns}, output.element});
      t.sum_rows(output.elements() / std::max<std::uint64_t>(1, columns), columns);
    }
    return grads;
  });
}

Tensor matmul(Tape& tape, const Tensor& a, const Tensor& b, Shape shape, Name name) {
  const Meta left = a.meta();
  const Meta right = b.meta();
  Tensors saved;
  if (b.requires_grad()) saved.push_back(a);
  if (a.requires_grad()) saved.push_back(b);
  const Tensor y = product(tape, name, {shape, a.element});
  return tape.connect(y, {a, b}, saved, [=](Tape& t, const Tensor&, const Node& node) -> Tensors {
    Tensors grads(2);
    if (node.wants(0)) grads[0] = product(t, name + ".left_grad", left);
    if (node.wants(1)) grads[1] = product(t, name + ".right_grad", right);
    return grads;
  });
}

Tensor embedding(Tape& tape, const Tensor& ids, const Tensor& weight, Name name) {
  const Meta table = weight.meta();
  Meta rows{ids.shape, weight.element};
  rows.shape.push_back(weight.shape.back());
  const Tensor y = tape.empty(name, rows);
  return tape.connect(
      y, {weight}, {ids},
      [table, name, count = ids.elements()](Tape& t, const Tensor&, const Node&) -> Tensors {
        Tensor grad = t.empty(name + ".weight_grad", table);
        sum_by_segments(t, count, table, name);
        return {grad};
      });
}

Tensor embedding_of_columns(Tape& tape, const Tensor& ids, const Tensor& weight, Name name) {
  const Meta table = weight.meta();
  Meta rows{ids.shape, weight.element};
  rows.shape.push_back(weight.shape.front());
  return tape.connect(tape.empty(name, rows), {weight}, {ids},
                      [table, name](Tape& t, const Tensor&, const Node&) -> Tensors {
                        const Tensor turned = t.empty(name + ".weight_grad_turned", table);
                        return {t.empty(name + ".weight_grad", table)};
                      });
}

Tensor nll_loss(Tape& tape, const Tensor& log_probabilities) {
  const Meta rows = log_probabilities.meta();
  const Tensor loss = tape.empty("loss", {{1}, rows.element});
  const Tensor weight = tape.empty("loss.total_weight", {{1}, rows.element});
  return tape.connect(loss, {log_probabilities}, {log_probabilities, weight},
                      [rows](Tape& t, const Tensor&, const Node&) -> Tensors {
                        return {t.empty("log_probabilities.grad", rows, Component::logits)};
                      });
}

Tensor convolution(Tape& tape, const Tensor& x, const ConvolutionWeights& weights,
                   const Meta& output, Name name) {
  const auto& [weight, bias] = weights;
  const Meta input = x.meta();
  const Meta matrix = weight.meta();
  Tensors inputs = {x, weight};
  if (bias) inputs.push_back(*bias);
  return tape.connect(
      tape.empty(name, output), inputs, {x, weight},
      [=](Tape& t, const Tensor&, const Node& node) -> Tensors {
        Tensors grads(node.inputs.size());
        if (node.wants(0)) grads[0] = t.empty(name + ".input_grad", input);
        if (node.wants(1)) grads[1] = t.empty(name + ".weight_grad", matrix);
        if (grads.size() > 2 && node.wants(2)) {
          grads[2] = t.empty(name + ".bias_grad", {{matrix.shape.front()}, matrix.element});
        }
        return grads;
      });
}

Tensor in_place_cross_entropy(Tape& tape, const Tensor& logits) {
  const Meta rows{{logits.shape[0]}, Element::fp32};
  const Tensor losses = tape.empty("loss.rows", rows);
  const Tensor log_sum_exp = tape.empty("loss.logsumexp", rows);
  const Tensor loss = tape.empty("loss", {{1}, Element::fp32});
  return tape.connect(loss, {logits}, {logits, log_sum_exp},
                      [](Tape&, const Tensor&, const Node& node) -> Tensors {
                        return {node.saved.front()};  // The logits' own memory.
                      });
}

Tensor fused_linear_cross_entropy(Tape& tape, const Tensor& hidden, const Tensor& weight) {
  const std::uint64_t rows = hidden.shape[0];
  const std::uint64_t width = hidden.shape[1];
  const std::uint64_t vocabulary = weight.shape[0];
  // As many chunks as the vocabulary is wider than the hidden states, each of a power of two rows.
  const std::uint64_t chunks = (vocabulary + width - 1) / width;
  std::uint64_t chunk = 1;
  while (chunk < (rows + chunks - 1) / chunks) chunk *= 2;
  chunk = std::min(chunk, rows);
  Tensor hidden_grad = tape.empty("hidden.grad", hidden, Component::activations);
  Tensor weight_grad;
  if (weight.requires_grad())
    weight_grad = tape.empty("head.weight_grad", weight, Component::gradients);
  const Tensor losses = tape.empty("loss.rows", {{rows}, Element::fp32});
  {
    const Tensor logits = product(tape, "logits.chunk", {{chunk, vocabulary}, hidden.element});
    const Tensor wide = ops::cast(tape, logits, Element::fp32, "logits.chunk_fp32");
    Tensor part;
    if (weight.requires_grad()) part = product(tape, "head.weight_grad_chunk", weight);
  }
  Tensors saved = {hidden_grad};
  if (weight_grad.defined()) saved.push_back(weight_grad);
  const Tensor loss = tape.empty("loss", {{1}, Element::fp32});
  return tape.connect(loss, {hidden, weight}, saved,
                      [](Tape&, const Tensor&, const Node& node) -> Tensors {
                        Tensors grads(2);
                        grads[0] = node.saved[0];
                        if (node.wants(1)) grads[1] = node.saved[1];
                        return grads;
                      });
}

}  // namespace headroom::estimate::ops
