// SPDX-License-Identifier: Apache-2.0
#include "estimate/ops.h"

#include <algorithm>
#include <utility>

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
    grad = tape.empty("grad_sum", {operand.shape, grad.element});
  }
  if (grad.element != operand.element) grad = tape.empty("grad_cast", operand);
  return grad;
}

// The backward of most operations on one tensor: a new gradient of the input's shape.
GradFn one_gradient(const std::string& name, const Meta& input) {
  return [name, input](Tape& t, const Tensor&, const Node&) -> std::vector<Tensor> {
    return {t.empty(name + ".grad", input)};
  };
}

// An elementwise operation that saves its input, or nothing.
Tensor pointwise(Tape& tape, const Tensor& x, const std::string& name, bool saves_input) {
  const Meta meta = x.meta();
  Tensor y = tape.empty(name, meta);
  std::vector<Tensor> saved;
  if (saves_input) saved.push_back(x);
  return tape.connect(y, {x}, std::move(saved), one_gradient(name, meta));
}

}  // namespace

Tensor cast(Tape& tape, const Tensor& x, Element element, const std::string& name) {
  if (x.element == element) return x;
  const Meta from = x.meta();
  return tape.connect(tape.empty(name, {x.shape, element}), {x}, {}, one_gradient(name, from));
}

Tensor add(Tape& tape, const Tensor& a, const Tensor& b, const std::string& name) {
  const Meta left = a.meta();
  const Meta right = b.meta();
  return tape.connect(
      tape.empty(name, broadcast(a, b)), {a, b}, {},
      [left, right](Tape& t, const Tensor& grad, const Node& node) -> std::vector<Tensor> {
        std::vector<Tensor> grads(2);
        if (node.wants(0)) grads[0] = reduce_to(t, grad, left);
        if (node.wants(1)) grads[1] = reduce_to(t, grad, right);
        return grads;
      });
}

Tensor mul(Tape& tape, const Tensor& a, const Tensor& b, const std::string& name) {
  const Meta left = a.meta();
  const Meta right = b.meta();
  const Meta whole = broadcast(a, b);
  std::vector<Tensor> saved;
  if (b.requires_grad()) saved.push_back(a);
  if (a.requires_grad()) saved.push_back(b);
  return tape.connect(tape.empty(name, whole), {a, b}, std::move(saved),
                      [=](Tape& t, const Tensor&, const Node& node) -> std::vector<Tensor> {
                        std::vector<Tensor> grads(2);
                        if (node.wants(0)) grads[0] = t.empty(name + ".grad", whole);
                        if (node.wants(1)) grads[1] = t.empty(name + ".grad", whole);
                        if (node.wants(0)) grads[0] = reduce_to(t, std::move(grads[0]), left);
                        if (node.wants(1)) grads[1] = reduce_to(t, std::move(grads[1]), right);
                        return grads;
                      });
}

Tensor scale(Tape& tape, const Tensor& x, const std::string& name) {
  return pointwise(tape, x, name, /*saves_input=*/false);
}

Tensor silu(Tape& tape, const Tensor& x, const std::string& name) {
  return pointwise(tape, x, name, /*saves_input=*/true);
}

// pow_backward: grad * (2 * x^1), two temporaries before the result.
Tensor square(Tape& tape, const Tensor& x, const std::string& name) {
  const Meta meta = x.meta();
  return tape.connect(tape.empty(name, meta), {x}, {x},
                      [meta, name](Tape& t, const Tensor&, const Node&) -> std::vector<Tensor> {
                        Tensor power = t.empty(name + ".power", meta);
                        const Tensor twice = t.empty(name + ".twice", meta);
                        power = {};
                        return {t.empty(name + ".grad", meta)};
                      });
}

Tensor rsqrt(Tape& tape, const Tensor& x, const std::string& name) {
  const Tensor y = tape.empty(name, x);
  return tape.connect(y, {x}, {y}, one_gradient(name, x.meta()));
}

// native_dropout: the output, and a mask of one byte per element.
Tensor dropout(Tape& tape, const Tensor& x, double probability, const std::string& name) {
  if (probability == 0) return x;
  const Tensor y = tape.empty(name, x);
  const Tensor mask = tape.empty(name + ".mask", {x.shape, Element::uint8});
  return tape.connect(y, {x}, {mask}, one_gradient(name, x.meta()));
}

Tensor mean_last(Tape& tape, const Tensor& x, const std::string& name) {
  const Meta whole = x.meta();
  Meta reduced = x.meta();
  reduced.shape.back() = 1;
  return tape.connect(tape.empty(name, reduced), {x}, {}, one_gradient(name, whole));
}

Tensor softmax(Tape& tape, const Tensor& x, const std::string& name) {
  const Tensor y = tape.empty(name, x);
  return tape.connect(y, {x}, {y}, one_gradient(name, x.meta()));
}

Tensor narrow_last(const Tape& tape, const Tensor& x, std::uint64_t size) {
  const Meta whole = x.meta();
  Tensor part = x;
  part.shape.back() = size;
  part.node = nullptr;
  return tape.connect(part, {x}, {}, one_gradient("slice", whole));
}

Tensor concat_last(Tape& tape, const Tensor& a, const Tensor& b, const std::string& name) {
  const Meta left = a.meta();
  const Meta right = b.meta();
  Meta whole = a.meta();
  whole.shape.back() += b.shape.back();
  return tape.connect(tape.empty(name, whole), {a, b}, {},
                      [left, right](Tape&, const Tensor& grad, const Node&) -> std::vector<Tensor> {
                        Tensor first = grad;  // Both are views of the gradient.
                        first.shape = left.shape;
                        Tensor second = grad;
                        second.shape = right.shape;
                        return {first, second};
                      });
}

Tensor copy(Tape& tape, const Tensor& x, Shape shape, const std::string& name) {
  const Meta from = x.meta();
  Meta to = x.meta();
  to.shape = std::move(shape);
  const bool whole = from.elements() == to.elements();
  return tape.connect(tape.empty(name, to), {x}, {},
                      [=](Tape& t, Tensor grad, const Node&) -> std::vector<Tensor> {
                        if (!whole) return {t.empty(name + ".grad", from)};
                        grad.shape = from.shape;
                        return {grad};
                      });
}

Tensor repeat_heads(Tape& tape, const Tensor& x, Shape repeated, const std::string& name) {
  const Meta from = x.meta();
  Meta to = x.meta();
  to.shape = std::move(repeated);
  if (to.elements() == from.elements()) return x;
  return tape.connect(tape.empty(name, to), {x}, {}, one_gradient(name, from));
}

Tensor checkpoint(Tape& tape, const Tensor& x, const Function& function) {
  const bool enabled = tape.grad_enabled();
  tape.enable_grad(false);
  Tensor y = function(tape, Tape::detach(x, false));
  tape.enable_grad(enabled);
  y.node = nullptr;
  return tape.connect(y, {x}, {x},
                      [function](Tape& t, Tensor grad, const Node& node) -> std::vector<Tensor> {
                        const Tensor input = Tape::detach(node.saved.front(), true);
                        t.enable_grad(true);
                        const Tensor output = function(t, input);
                        t.enable_grad(false);
                        t.backward(output, std::move(grad));
                        return {std::move(*input.node->grad)};
                      });
}

}  // namespace headroom::estimate::ops
