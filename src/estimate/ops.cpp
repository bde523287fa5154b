// SPDX-License-Identifier: Apache-2.0
#include "estimate/ops.h"

#include <algorithm>
#include <utility>

#include "estimate/one_gradient.h"

namespace headroom::estimate::ops {
namespace {

// One operand has the result's shape in all that a decoder does: the larger, and of two alike ([64]
// and [1, 1, 64]) the one with more dimensions.
Meta broadcast(const Tensor& a, const Tensor& b) {
  const bool first =
      a.elements() != b.elements() ? a.elements() > b.elements() : a.shape.size() >= b.shape.size();
  const Tensor& larger = first ? a : b;
  const Element element = size_of(a.element) >= size_of(b.element) ? a.element : b.element;
  return {larger.shape, element};
}

// A gradient of the broadcast shape, brought to an operand's own: summed, then cast.
Tensor reduce_to(Tape& tape, Tensor grad, const Meta& operand) {
  if (grad.elements() != operand.elements()) {
    const std::uint64_t elements = operand.elements();
    const std::uint64_t rows = grad.elements() / std::max<std::uint64_t>(1, elements);
    grad = tape.empty("grad_sum", {operand.shape, grad.element});
    if (elements == operand.shape.back()) tape.sum_rows(rows, elements);
  }
  if (grad.element != operand.element) grad = tape.empty("grad_cast", operand);
  return grad;
}

enum class Saves : std::uint8_t { nothing, input, result };

Tensor pointwise(Tape& tape, const Tensor& x, Name name, Saves saves) {
  const Meta meta = x.meta();
  Tensor y = tape.empty(name, meta);
  Tensors saved;
  if (saves == Saves::input) saved.push_back(x);
  if (saves == Saves::result) saved.push_back(y);
  return tape.connect(y, {x}, saved, one_gradient(name, meta));
}

}  // namespace

Tensor cast(Tape& tape, const Tensor& x, Element element, Name name) {
  if (x.element == element) return x;
  const Meta from = x.meta();
  return tape.connect(tape.empty(name, {x.shape, element}), {x}, {}, one_gradient(name, from));
}

Tensor add(Tape& tape, const Tensor& a, const Tensor& b, Name name) {
  const Meta left = a.meta();
  const Meta right = b.meta();
  return tape.connect(tape.empty(name, broadcast(a, b)), {a, b}, {},
                      [left, right](Tape& t, const Tensor& grad, const Node& node) -> Tensors {
                        Tensors grads(2);
                        if (node.wants(0)) grads[0] = reduce_to(t, grad, left);
                        if (node.wants(1)) grads[1] = reduce_to(t, grad, right);
                        return grads;
                      });
}

Tensor subtract(Tape& tape, const Tensor& a, const Tensor& b, Name name) {
  const Meta left = a.meta();
  const Meta right = b.meta();
  const Meta whole = broadcast(a, b);
  return tape.connect(tape.empty(name, whole), {a, b}, {},
                      [=](Tape& t, const Tensor& grad, const Node& node) -> Tensors {
                        Tensors grads(2);
                        Tensor negated;
                        if (node.wants(1)) negated = t.empty(name + ".negated", whole);
                        if (node.wants(0)) grads[0] = reduce_to(t, grad, left);
                        if (node.wants(1)) grads[1] = reduce_to(t, std::move(negated), right);
                        return grads;
                      });
}

Tensor add_in_place(Tape& tape, const Tensor& a, const Tensor& b) {
  const Meta right = b.meta();
  Tensor sum = a;
  sum.node = nullptr;
  return tape.connect(sum, {a, b}, {},
                      [right](Tape& t, const Tensor& grad, const Node& node) -> Tensors {
                        Tensors grads(2);
                        if (node.wants(0)) grads[0] = grad;
                        if (node.wants(1)) grads[1] = reduce_to(t, grad, right);
                        return grads;
                      });
}

Tensor mul(Tape& tape, const Tensor& a, const Tensor& b, Name name) {
  const Meta left = a.meta();
  const Meta right = b.meta();
  const Meta whole = broadcast(a, b);
  Tensors saved;
  if (b.requires_grad()) saved.push_back(a);
  if (a.requires_grad()) saved.push_back(b);
  return tape.connect(tape.empty(name, whole), {a, b}, saved,
                      [=](Tape& t, const Tensor&, const Node& node) -> Tensors {
                        Tensors grads(2);
                        if (node.wants(0)) grads[0] = t.empty(name + ".grad", whole);
                        if (node.wants(1)) grads[1] = t.empty(name + ".grad", whole);
                        if (node.wants(0)) grads[0] = reduce_to(t, std::move(grads[0]), left);
                        if (node.wants(1)) grads[1] = reduce_to(t, std::move(grads[1]), right);
                        return grads;
                      });
}

Tensor scale(Tape& tape, const Tensor& x, Name name) {
  return pointwise(tape, x, name, Saves::nothing);
}

Tensor silu(Tape& tape, const Tensor& x, Name name) {
  return pointwise(tape, x, name, Saves::input);
}

Tensor gelu(Tape& tape, const Tensor& x, Name name) {
  return pointwise(tape, x, name, Saves::input);
}

Tensor relu(Tape& tape, const Tensor& x, Name name) {
  return pointwise(tape, x, name, Saves::result);
}

Tensor tanh(Tape& tape, const Tensor& x, Name name) {
  return pointwise(tape, x, name, Saves::result);
}

Tensor sigmoid(Tape& tape, const Tensor& x, Name name) {
  return pointwise(tape, x, name, Saves::result);
}

Tensor cube(Tape& tape, const Tensor& x, Name name) {
  return square(tape, x, name);  // pow_backward has the same temporaries for every exponent.
}

// pow_backward: grad * (2 * x^1), two temporaries before the result.
Tensor square(Tape& tape, const Tensor& x, Name name) {
  const Meta meta = x.meta();
  return tape.connect(tape.empty(name, meta), {x}, {x},
                      [meta, name](Tape& t, const Tensor&, const Node&) -> Tensors {
                        Tensor power = t.empty(name + ".power", meta);
                        const Tensor twice = t.empty(name + ".twice", meta);
                        power = {};
                        return {t.empty(name + ".grad", meta)};
                      });
}

Tensor rsqrt(Tape& tape, const Tensor& x, Name name) {
  const Tensor y = tape.empty(name, x);
  return tape.connect(y, {x}, {y}, one_gradient(name, x.meta()));
}

// native_dropout: the output, and a mask of one byte per element.
Tensor dropout(Tape& tape, const Tensor& x, double probability, Name name) {
  if (probability == 0) return x;
  const Tensor y = tape.empty(name, x);
  const Tensor mask = tape.empty(name + ".mask", {x.shape, Element::uint8});
  return tape.connect(y, {x}, {mask}, one_gradient(name, x.meta()));
}

Tensor mean_last(Tape& tape, const Tensor& x, Name name) {
  const Meta whole = x.meta();
  Meta reduced = x.meta();
  reduced.shape.back() = 1;
  return tape.connect(tape.empty(name, reduced), {x}, {}, one_gradient(name, whole));
}

Tensor mean_all(Tape& tape, const Tensor& x, Name name) {
  return tape.connect(tape.empty(name, {{1}, Element::fp32}), {x}, {},
                      one_gradient(name, x.meta()));
}

Tensor softmax(Tape& tape, const Tensor& given, Element element, Name name) {
  // Of the two half types one kernel widens fp16 itself (native/SoftMax.cpp, half_to_float).
  const bool inside = given.element == Element::fp16;
  const Tensor x = inside ? given : cast(tape, given, element, "scores.fp32");
  const Meta result{x.shape, element};
  const Tensor y = tape.empty(name, result);
  const Meta meta = x.meta();
  return tape.connect(y, {x}, {y},
                      [name, meta, result](Tape& t, const Tensor&, const Node&) -> Tensors {
                        Tensor grad = t.empty(name + ".grad", meta);
                        const Tensor product = t.empty(name + ".times_grad", result);
                        return {grad};
                      });
}

Tensor log_softmax(Tape& tape, const Tensor& x, Name name) {
  return pointwise(tape, x, name, Saves::result);
}

Tensor part_of(const Tape& tape, const Tensor& x, const Shape& shape) {
  Tensor part = x;
  part.shape = shape;
  part.node = nullptr;
  return tape.connect(part, {x}, {}, one_gradient("slice", x.meta()));
}

Tensor narrow(const Tape& tape, const Tensor& x, std::size_t dimension, std::uint64_t size) {
  Shape shape = x.shape;
  shape[dimension] = size;
  return part_of(tape, x, shape);
}

Tensor narrow_last(const Tape& tape, const Tensor& x, std::uint64_t size) {
  return narrow(tape, x, x.shape.size() - 1, size);
}

Tensor concat_last(Tape& tape, const Tensor& a, const Tensor& b, Name name) {
  const Meta left = a.meta();
  const Meta right = b.meta();
  Meta whole = a.meta();
  whole.shape.back() += b.shape.back();
  return tape.connect(tape.empty(name, whole), {a, b}, {},
                      [left, right](Tape&, const Tensor& grad, const Node&) -> Tensors {
                        Tensor first = grad;  // Both are views of the gradient.
                        first.shape = left.shape;
                        Tensor second = grad;
                        second.shape = right.shape;
                        return {first, second};
                      });
}

Tensor copy(Tape& tape, const Tensor& x, Shape shape, Name name) {
  const Meta from = x.meta();
  Meta to = x.meta();
  to.shape = shape;
  const bool whole = from.elements() == to.elements();
  return tape.connect(tape.empty(name, to), {x}, {},
                      [=](Tape& t, Tensor grad, const Node&) -> Tensors {
                        if (!whole) return {t.empty(name + ".grad", from)};
                        grad.shape = from.shape;
                        return {grad};
                      });
}

Tensor relayout(Tape& tape, const Tensor& x, Name name) {
  return tape.connect(tape.empty(name, x), {x}, {}, one_gradient(name, x.meta()));
}

Tensor take(Tape& tape, const Tensor& x, Shape shape, Name name) {
  const Meta from = x.meta();
  const Meta to{shape, x.element};
  const Tensor y = tape.empty(name, to);
  return tape.connect(y, {x}, {}, one_gradient(name, from));
}

Tensor prepend(Tape& tape, const Tensor& x, const Tensor& row, Name name) {
  const Meta rows = x.meta();
  const Meta one = row.meta();
  Meta whole = x.meta();
  whole.shape[1] += 1;
  return tape.connect(tape.empty(name, whole), {x, row}, {},
                      [rows, one, name](Tape& t, const Tensor& grad, const Node& node) -> Tensors {
                        Tensors grads(2);
                        if (node.wants(0)) grads[0] = Tape::view(grad, rows.shape);
                        if (node.wants(1)) grads[1] = t.empty(name + ".row_grad", one);
                        return grads;
                      });
}

Tensor positions_from(Tape& tape, const Tensor& table, const Meta& scores) {
  const Meta rows = table.meta();
  const Tensor buckets =
      tape.empty("position_buckets", {{scores.shape[2], scores.shape[3]}, Element::int64});
  return tape.connect(tape.empty("position_bias", scores), {table}, {buckets},
                      [rows](Tape& t, const Tensor&, const Node&) -> Tensors {
                        return {t.empty("position_bias.table_grad", rows)};
                      });
}

Tensor add_rows_in_place(const Tape& tape, const Tensor& sum, const Tensor& rows, bool keeps_rows) {
  const Meta part = rows.meta();
  Tensor same = sum;
  same.node = nullptr;
  Tensors saved;
  if (keeps_rows) saved.push_back(rows);
  return tape.connect(same, {sum, rows}, saved,
                      [part](Tape& t, const Tensor& grad, const Node& node) -> Tensors {
                        Tensors grads(2);
                        if (node.wants(0)) grads[0] = grad;
                        if (node.wants(1)) grads[1] = t.empty("experts.rows_grad", part);
                        return grads;
                      });
}

Tensor repeat_heads(Tape& tape, const Tensor& x, Shape repeated, Name name) {
  const Meta from = x.meta();
  Meta to = x.meta();
  to.shape = repeated;
  if (to.elements() == from.elements()) return x;
  return tape.connect(tape.empty(name, to), {x}, {}, one_gradient(name, from));
}

Tensor layer_norm(Tape& tape, const Tensor& x, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, Name name) {
  const Meta input = x.meta();
  const Meta scale = weight ? weight->meta() : Meta{};
  Meta rows{{input.elements() / std::max<std::uint64_t>(1, x.shape.back())}, Element::fp32};
  const Tensor y = tape.empty(name, input);
  const Tensor mean = tape.empty(name + ".mean", rows);
  const Tensor rstd = tape.empty(name + ".rstd", rows);
  Tensors inputs = {x};
  if (weight) inputs.push_back(*weight);
  if (bias) inputs.push_back(*bias);
  Tensors saved = {x, mean, rstd};
  if (weight) saved.push_back(*weight);
  return tape.connect(y, inputs, saved, [=](Tape& t, const Tensor&, const Node& node) -> Tensors {
    Tensors grads(node.inputs.size());
    if (node.wants(0)) grads[0] = t.empty(name + ".grad", input);
    if (grads.size() > 1 && node.wants(1)) grads[1] = t.empty(name + ".weight_grad", scale);
    if (grads.size() > 2 && node.wants(2)) grads[2] = t.empty(name + ".bias_grad", scale);
    return grads;
  });
}

Tensor fused_rms_norm(Tape& tape, const Tensor& x, const Tensor& weight, Name name) {
  const Meta input = x.meta();
  const Meta scale = weight.meta();
  const Meta rows{{input.elements() / std::max<std::uint64_t>(1, x.shape.back())}, Element::fp32};
  const Tensor y = tape.empty(name, input);
  const Tensor rstd = tape.empty(name + ".rstd", rows);
  return tape.connect(y, {x, weight}, {x, weight, rstd},
                      [=](Tape& t, const Tensor&, const Node& node) -> Tensors {
                        Tensors grads(2);
                        if (node.wants(0)) grads[0] = t.empty(name + ".grad", input);
                        if (node.wants(1)) grads[1] = t.empty(name + ".weight_grad", scale);
                        return grads;
                      });
}

namespace {

std::vector<Tensor> detached(TensorsView tensors, const std::vector<bool>& wanted) {
  std::vector<Tensor> leaves;
  leaves.reserve(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i)
    leaves.push_back(Tape::detach(tensors[i], wanted[i]));
  return leaves;
}

}  // namespace

Tensor checkpoint(Tape& tape, const std::vector<Tensor>& inputs, const Function& function,
                  bool reentrant) {
  const bool enabled = tape.grad_enabled();
  tape.enable_grad(false);
  Tensor y = function(tape, detached(inputs, std::vector<bool>(inputs.size(), false)));
  tape.enable_grad(enabled);
  y.node = nullptr;
  return tape.connect(y, inputs, inputs,
                      [function, reentrant](Tape& t, Tensor grad, const Node& node) -> Tensors {
                        const Tensor named = reentrant ? grad : Tensor{};
                        std::vector<bool> wanted;
                        for (std::size_t i = 0; i < node.inputs.size(); ++i)
                          wanted.push_back(node.wants(i));
                        const std::vector<Tensor> leaves = detached(node.saved, wanted);
                        t.enable_grad(true);
                        Tensor output = function(t, leaves);
                        t.enable_grad(false);
                        // The other kind stops where all that is kept is there again, which is
                        // before the result (_StopRecomputationError).
                        if (!reentrant) output.storage = {};
                        t.backward(output, std::move(grad));
                        Tensors grads(leaves.size());
                        for (std::size_t i = 0; i < leaves.size(); ++i)
                          if (wanted[i] && leaves[i].node->grad)
                            grads[i] = std::move(*leaves[i].node->grad);
                        return grads;
                      });
}

}  // namespace headroom::estimate::ops
