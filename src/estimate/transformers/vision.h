// SPDX-License-Identifier: Apache-2.0
// What a language model sees: a vision tower and the projector that takes its rows to the width of
// the text's.
#pragma once

#include <optional>

#include "estimate/transformers/input.h"
#include "estimate/transformers/linear.h"
#include "estimate/transformers/stack.h"

namespace headroom::estimate::transformers {

// Of all images of a micro-batch.
struct Seen {
  Tensor features;  // One row for each of their tokens, as wide as the text's.
  // The tower's output object, which lives until the language model is done.
  std::vector<Tensor> outputs;
};

class VisionModules {
 public:
  // Makes the projector's weights. `run`, `model`, and the tower's modules outlive this.
  VisionModules(Run& run, const Architecture& model, InputModules& input, StackModules& tower);

  // To what is not frozen.
  void attach_adapters();
  // Pixels of so many images, as the processor gives them.
  Tensor pixels(std::uint64_t images) {
    return input_.pixels(images * (run_.tiles ? run_.tiles->count() : 1));
  }
  Seen see(const Tensor& pixels);

 private:
  // The class token's row left out, where it is.
  Tensor rows_of(const Tensor& hidden);
  Tensor project(Tensor rows);
  // Of each image its rows as the text is given them.
  std::vector<Tensor> arrange(const Tensor& projected);

  Run& run_;
  const Stack& text_;
  const Projector& projector_;
  const Stack& stack_;
  InputModules& input_;
  StackModules& tower_;
  std::optional<NormWeights> norm_;
  std::optional<Linear> first_, second_;
  std::optional<Tensor> newline_;
};

}  // namespace headroom::estimate::transformers
