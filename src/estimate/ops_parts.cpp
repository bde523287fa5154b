// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "estimate/one_gradient.h"
#include "estimate/ops.h"

namespace headroom::estimate::ops {

std::vector<Tensor> split_last(const Tape& tape, const Tensor& x,
                               const std::vector<std::uint64_t>& sizes) {
  // What a part's gradient waits in, as in the input buffer of PyTorch's one node. Empty but during
  // a backward.
  const auto held = std::make_shared<std::vector<Tensor>>();
  const Meta whole = x.meta();
  Tensor joint = x;
  joint.node = nullptr;
  joint = tape.connect(joint, {x}, {}, [=](Tape& t, const Tensor&, const Node&) -> Tensors {
    Tensor grad = t.empty("split.grad", whole);
    held->clear();
    return {std::move(grad)};
  });
  std::vector<Tensor> parts;
  for (const std::uint64_t size : sizes) {
    Tensor part = joint;
    part.shape.back() = size;
    part.node = nullptr;
    parts.push_back(
        tape.connect(part, {joint}, {}, [=](Tape&, Tensor grad, const Node&) -> Tensors {
          held->push_back(std::move(grad));
          return Tensors(1);
        }));
  }
  return parts;
}

Tensor exp(Tape& tape, const Tensor& x, Name name) {
  const Tensor y = tape.empty(name, x);
  return tape.connect(y, {x}, {y}, one_gradient(name, x.meta()));
}

Tensor masked_fill(Tape& tape, const Tensor& x, const Tensor& mask, Name name) {
  const Meta meta = x.meta();
  return tape.connect(tape.empty(name, meta), {x}, {mask}, one_gradient(name, meta));
}

Tensor cumsum(Tape& tape, const Tensor& x, Name name) {
  const Meta meta = x.meta();
  return tape.connect(tape.empty(name, meta), {x}, {},
                      [=](Tape& t, const Tensor&, const Node&) -> Tensors {
                        Tensor turned = t.empty(name + ".turned", meta);
                        const Tensor summed = t.empty(name + ".summed", meta);
                        turned = {};
                        return {t.empty(name + ".grad", meta)};
                      });
}

Tensor repeat(Tape& tape, const Tensor& x, const Shape& repeated, Name name) {
  return tape.connect(tape.empty(name, {repeated, x.element}), {x}, {},
                      one_gradient(name, x.meta()));
}

Tensor pad(Tape& tape, const Tensor& x, const Shape& to, Name name) {
  return tape.connect(tape.empty(name, {to, x.element}), {x}, {}, one_gradient(name, x.meta()));
}

}  // namespace headroom::estimate::ops
