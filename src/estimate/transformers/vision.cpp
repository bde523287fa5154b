// SPDX-License-Identifier: Apache-2.0
// Sources: transformers' modeling_llava.py and modeling_gemma3.py (get_image_features and the
// projectors).
#include "estimate/transformers/vision.h"

#include <utility>

namespace headroom::estimate::transformers {
namespace {

const std::string& name_of(const Stack& stack, Target target) {
  const ModuleNames& names = stack.names;
  const bool fused = stack.attention.fused_qkv;
  switch (target) {
    case Target::q:
      return fused ? names.qkv : names.q;
    case Target::k:
      return fused ? names.qkv : names.k;
    case Target::v:
      return fused ? names.qkv : names.v;
    case Target::o:
      return names.o;
    case Target::gate:
      return names.gate;
    case Target::up:
      return names.up;
    case Target::down:
    case Target::embedding:
    case Target::head:
      break;
  }
  return names.down;
}

}  // namespace

VisionModules::VisionModules(Run& run, const Architecture& model, InputModules& input,
                             StackModules& tower)
    : run_(run),
      text_(model.main()),
      projector_(*model.projector),
      stack_(model.stacks.front()),
      input_(input),
      tower_(tower) {
  const Projector& shape = projector_;
  if (shape.norm) norm_ = make_norm(run, "projector.norm", *shape.norm, shape.norm_width);
  const std::uint64_t first_out = shape.inner > 0 ? shape.inner : shape.out;
  first_ = make_plain_linear(run, "projector.linear_1", {first_out, shape.in}, shape.bias,
                             run.weights());
  if (shape.inner > 0)
    second_ = make_plain_linear(run, "projector.linear_2", {shape.out, shape.inner}, shape.bias,
                                run.weights());
  if (shape.newline)
    newline_ = run.tape.parameter("image_newline", {{shape.out}, run.weights()}, Component::weights,
                                  run.full());
}

// PEFT goes by names: of a list of modules a tower has those that are called as the text's are.
// pack_image_features: the small whole comes first, then the tiles' rows, each with its end.
std::vector<Tensor> VisionModules::arrange(const Tensor& projected) {
  Tape& tape = run_.tape;
  const std::uint64_t width = projected.shape[2];
  const std::uint64_t whole = projector_.tokens;
  const std::uint64_t tiles = run_.tiles->count() - 1;
  const std::uint64_t images = projected.shape[0] / (tiles + 1);
  std::vector<Tensor> arranged;
  for (std::uint64_t image = 0; image < images; ++image) {
    const Tensor first = Tape::view(projected, {whole, width});
    Tensor rows = ops::copy(tape, projected, {tiles * whole, width}, "tiles.contiguous");
    const Tensor ends = Tape::view(*newline_, {1, width});
    rows = ops::join(tape, {rows, ends}, {run_.tiles->tokens(), width}, "tiles.with_newline");
    arranged.push_back(
        ops::join(tape, {first, rows}, {whole + run_.tiles->tokens(), width}, "image_rows"));
  }
  return arranged;
}

void VisionModules::attach_adapters() {
  const Job::Method& method = run_.job.method;
  std::vector<Target> targets = method.targets;
  if (!method.all_linear)
    std::erase_if(targets, [this](Target target) {
      return name_of(stack_, target) != name_of(text_, target);
    });
  if (!method.freeze_vision_tower) tower_.attach_adapters(targets);
  if (method.freeze_projector || !method.all_linear) return;
  for (std::optional<Linear>* linear : {&first_, &second_})
    if (*linear) attach_adapter(run_, **linear);
}

Tensor VisionModules::rows_of(const Tensor& hidden) {
  const Shape rows = {hidden.shape[0], projector_.tokens, hidden.shape[2]};
  if (projector_.averages)
    return ops::average_rows(run_.tape, hidden, projector_.tokens, "projector.averages");
  if (projector_.tokens == 0 || hidden.shape[1] == projector_.tokens) return hidden;
  // A slice, which the first product copies into rows; autocast has copied it before.
  const Tensor narrow = run_.autocast(hidden, "projector.input");
  if (narrow.element != hidden.element) return ops::narrow(run_.tape, narrow, 1, rows[1]);
  return ops::copy(run_.tape, hidden, rows, "projector.rows");
}

Tensor VisionModules::project(Tensor rows) {
  Tape& tape = run_.tape;
  const Scope scope(tape, "projector");
  if (norm_) rows = apply(run_, *norm_, rows);
  const std::uint64_t merge = stack_.input.merge;
  if (merge > 1)
    rows = Tape::view(rows, {rows.shape[0], rows.shape[1] / (merge * merge), projector_.in});
  rows = apply(run_, *first_, rows);
  if (!second_) return rows;
  return apply(run_, *second_, activate(run_, projector_.activation, rows));
}

Seen VisionModules::see(const Tensor& pixels) {
  Tape& tape = run_.tape;
  const Scope scope(tape, "vision");
  Pass pass;
  Tensor chosen;
  pass.chosen = &chosen;
  // Tiles come as many to each image as the one with most has, and are joined without what is none.
  const Tensor shown =
      run_.tiles ? ops::copy(tape, pixels, pixels.shape, "pixel_values.tiles") : pixels;
  const Tensor last = tower_.forward(input_.look(shown), pass);
  Seen seen;
  const Tensor& given = chosen.defined() ? chosen : last;
  Tensor projected = project(rows_of(given));
  if (stack_.input.reorders)
    projected = ops::take(tape, projected, projected.shape, "projector.in_order");
  const Shape rows = {projected.shape[0] * projected.shape[1], projected.shape[2]};
  seen.outputs = {last, given, projected};
  if (projector_.averages) {
    seen.features = Tape::view(projected, rows);
    return seen;
  }
  if (run_.tiles) {
    std::vector<Tensor> images = arrange(projected);
    const std::uint64_t tokens = images.size() * images.front().shape[0];
    seen.features = ops::join(tape, images, {tokens, projected.shape[2]}, "image_features");
    images.insert(images.end(), {last, given});
    seen.outputs = std::move(images);
    return seen;
  }
  // torch.cat of what is one tensor an image.
  seen.features = ops::copy(tape, projected, rows, "image_features");
  return seen;
}

}  // namespace headroom::estimate::transformers
