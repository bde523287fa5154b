// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

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

}  // namespace headroom::estimate::ops
