// SPDX-License-Identifier: Apache-2.0
// What images need: parts that are joined, rows that are averaged and put among others.
#include "estimate/one_gradient.h"
#include "estimate/ops.h"

namespace headroom::estimate::ops {

Tensor join(Tape& tape, const std::vector<Tensor>& parts, Shape whole, Name name) {
  std::vector<Shape> shapes;
  for (const Tensor& part : parts) shapes.push_back(part.shape);
  return tape.connect(tape.empty(name, {whole, parts.front().element}), parts, {},
                      [shapes](Tape&, const Tensor& grad, const Node&) -> Tensors {
                        Tensors grads;
                        for (const Shape& shape : shapes) grads.push_back(Tape::view(grad, shape));
                        return grads;
                      });
}

Tensor average_rows(Tape& tape, const Tensor& x, std::uint64_t rows, Name name) {
  const Tensor planes = copy(tape, x, x.shape, name + ".planes");
  const Meta from = x.meta();
  Meta to = from;
  to.shape[1] = rows;
  return tape.connect(tape.empty(name, to), {planes}, {planes}, one_gradient(name, from));
}

// masked_scatter: the kernel (native/cuda/IndexKernel.cpp, masked_scatter__cuda) counts the places
// before each element, in a mask that has been made as large as x. Backward: masked_fill, and
// masked_select, which lists the places of what it takes.
Tensor scatter_rows(Tape& tape, const Tensor& x, const Tensor& rows, Name name) {
  const Meta whole = x.meta();
  const Meta part = rows.meta();
  const Tensor mask = tape.empty(name + ".mask", {{x.shape[0], x.shape[1], 1}, Element::uint8});
  const Tensor y = tape.empty(name, whole);
  {
    const Tensor before = tape.empty(name + ".places_before", {whole.shape, Element::int64});
    const Tensor expanded = tape.empty(name + ".mask_expanded", {whole.shape, Element::uint8});
  }
  return tape.connect(
      y, {x, rows}, {mask}, [=](Tape& t, const Tensor&, const Node& node) -> Tensors {
        Tensors grads(2);
        if (node.wants(0)) grads[0] = t.empty(name + ".grad", whole);
        if (!node.wants(1)) return grads;
        const Tensor places =
            t.empty(name + ".places", {{part.elements(), whole.shape.size()}, Element::int64});
        grads[1] = t.empty(name + ".rows_grad", part);
        return grads;
      });
}

}  // namespace headroom::estimate::ops
