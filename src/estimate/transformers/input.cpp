// SPDX-License-Identifier: Apache-2.0
// Sources: modeling_bert.py (BertEmbeddings), modeling_vit.py and modeling_clip.py (patches),
// modeling_whisper.py (two convolutions of width 3, the second with stride 2), modeling_opt.py.
#include "estimate/transformers/input.h"

#include <utility>

#include "estimate/models/waveform.h"

namespace headroom::estimate::transformers {
namespace {

// torch.cat along the tokens: rows of x [batch, n, hidden] behind others, of which those without a
// batch are the same for each sample, and whose gradients are summed over them.
Tensor join_rows(Tape& tape, const Tensor& x, std::initializer_list<Tensor> front, Name name) {
  Meta whole = x.meta();
  Tensors inputs = {x};
  std::vector<Meta> metas = {x.meta()};
  for (const Tensor& rows : front) {
    whole.shape[1] += rows.elements() / x.shape[2] / (rows.shape.size() > 2 ? x.shape[0] : 1);
    inputs.push_back(rows);
    metas.push_back(rows.meta());
  }
  return tape.connect(tape.empty(name, whole), inputs, {},
                      [=](Tape& t, const Tensor& grad, const Node& node) -> Tensors {
                        Tensors grads(node.inputs.size());
                        for (std::size_t i = 0; i < metas.size(); ++i) {
                          if (!node.wants(i)) continue;
                          const bool summed = i > 0 && metas[i].shape.size() < 3;
                          grads[i] = summed ? t.empty(name + ".rows_grad", metas[i])
                                            : Tape::view(grad, metas[i].shape);
                        }
                        return grads;
                      });
}

constexpr std::uint64_t audio_kernel = 3;
constexpr std::uint64_t audio_stride = 2;

}  // namespace

Tensor InputModules::parameter(Name name, Shape shape, bool trained) {
  return run_.tape.parameter(name, {shape, run_.embeddings()}, Component::weights,
                             trained && run_.full());
}

InputModules::InputModules(Run& run, const Architecture& model, const Stack& stack,
                           const std::optional<Tensor>& shared_table)
    : run_(run), stack_(stack) {
  const Input& input = stack.input;
  const Name embedding = run.tape.intern(stack.names.embedding);
  const std::uint64_t width = input.projects_last ? input.width : stack.hidden;
  switch (input.kind) {
    case Input::Kind::tokens:
      table_ = shared_table ? *shared_table
                            : parameter(embedding + ".weight", {model.vocabulary, input.width});
      if (input.width != stack.hidden)
        project_ = make_plain_linear(run, "project_in", {stack.hidden, input.width},
                                     input.projects_last, run.weights());
      if (input.type_rows > 0)
        types_ = parameter("token_type_embeddings.weight", {input.type_rows, width});
      break;
    case Input::Kind::patches:
      first_weight_ = parameter("patch_embedding.weight",
                                input.frames > 0 ? Shape{stack.hidden, input.channels, input.frames,
                                                         input.patch_size, input.patch_size}
                                                 : Shape{stack.hidden, input.channels,
                                                         input.patch_size, input.patch_size});
      if (input.patch_bias) first_bias_ = parameter("patch_embedding.bias", {stack.hidden});
      if (input.class_token) class_token_ = parameter("class_embedding", {stack.hidden});
      if (input.extra_tokens > 0)
        extra_tokens_ = parameter("extra_tokens", {input.extra_tokens, stack.hidden});
      if (input.mask_token) make_mask_token();
      break;
    case Input::Kind::audio:
      first_weight_ = parameter("conv1.weight", {stack.hidden, input.mel_bins, audio_kernel});
      first_bias_ = parameter("conv1.bias", {stack.hidden});
      second_weight_ = parameter("conv2.weight", {stack.hidden, stack.hidden, audio_kernel});
      second_bias_ = parameter("conv2.bias", {stack.hidden});
      break;
    case Input::Kind::waveform:
      waveform_.emplace(run, stack);
      break;
    case Input::Kind::numbers:
      project_ = make_plain_linear(run, "input_projection", {stack.hidden, input.features}, true,
                                   run.weights());
      break;
  }
  if (stack.position_rows > 0)
    positions_ = parameter(run.tape.intern(stack.names.positions) + ".weight",
                           {stack.position_rows, width}, stack.positions != Positions::sinusoidal);
  if (input.kind == Input::Kind::tokens)
    for (const auto* table : {&table_, &types_, &positions_})
      if (*table) run.tables.insert((*table)->storage->tensor());
  if (input.norm) norm_ = make_norm(run, "embeddings_norm", stack.norm, width);
}

// Nothing is made of it in training for a task, and so it has no gradient.
void InputModules::make_mask_token() {
  const std::size_t before = run_.tape.trainable().size();
  mask_token_ = parameter("mask_token", {stack_.hidden});
  run_.tape.trainable().resize(before);
}

std::uint64_t InputModules::tokens_of(const Stack& stack, std::uint64_t tokens) {
  if (stack.input.kind == Input::Kind::patches)
    return stack.input.patches() + (stack.input.class_token ? 1 : 0) +
           (stack.input.extra_have_positions ? stack.input.extra_tokens : 0);
  if (stack.input.kind == Input::Kind::waveform) return stack.input.waveform->frames(tokens);
  if (stack.input.kind == Input::Kind::audio && stack.position_rows > 0) return stack.position_rows;
  return tokens;
}

// Both are made with the adapters of the layers (tuners/lora/layer.py, Embedding).
void InputModules::attach_adapter() {
  const Element element = element_of(run_.job.method.adapter_dtype);
  const std::uint64_t rank = run_.job.method.rank;
  const auto make = [&](Name name, const Shape& shape) {
    return run_.tape.parameter(name, {shape, element}, Component::adapters, true);
  };
  lora_a_ = make("embed_tokens.lora_embedding_A", {rank, table_->shape[0]});
  lora_b_ = make("embed_tokens.lora_embedding_B", {table_->shape[1], rank});
  run_.adapted = true;
}

void InputModules::attach_copy() {
  table_copy_ = run_.tape.parameter("embed_tokens.modules_to_save.weight", table_->meta(),
                                    Component::adapters, true);
  run_.tables.insert(table_copy_->storage->tensor());
}

// Rows of the first matrix, which is kept on its side, times the second, whatever autocast makes of
// the two; added, and brought back to the rows' type.
Tensor InputModules::with_adapter(const Tensor& ids, const Tensor& rows) {
  if (!lora_a_ || run_.without_adapters) return rows;
  Tape& tape = run_.tape;
  const Scope scope(tape, "embed_tokens");
  const Tensor first = ops::embedding_of_columns(tape, ids, *lora_a_, "lora_A");
  const Tensor second = run_.autocast(*lora_b_, "lora_B.cast");
  const Tensor made = ops::scale(
      tape, ops::linear(tape, run_.autocast(first, "lora_A.cast"), second, std::nullopt, "lora_B"),
      "lora_scaled");
  return ops::cast(tape, ops::add(tape, rows, made, "with_adapter"), rows.element, "narrow");
}

Tensor InputModules::embed_tokens(std::uint64_t tokens) {
  Tape& tape = run_.tape;
  const Tensor ids =
      tape.empty("input_ids", {{run_.batch, tokens}, Element::int64}, Component::other);
  const bool copied = table_copy_ && !run_.without_adapters;
  Tensor hidden = ops::embedding(tape, ids, copied ? *table_copy_ : *table_, "embeddings");
  // PEFT's enable_input_require_grads asks it of the embedding's own result, or nothing inside a
  // checkpoint would get a gradient.
  const bool asked = run_.adapters() && run_.job.compute.checkpointing != Checkpointing::none;
  if (asked && !hidden.requires_grad()) hidden = Tape::require_gradient(hidden);
  hidden = with_adapter(ids, hidden);
  if (types_) {
    const Tensor type_ids = tape.empty("token_type_ids", ids.meta(), Component::other);
    hidden = ops::add(tape, hidden, ops::embedding(tape, type_ids, *types_, "token_types"),
                      "embeddings_with_types");
  }
  if (stack_.input.scaled) hidden = ops::scale(tape, hidden, "embeddings.scaled");
  return project_ && !stack_.input.projects_last ? apply(run_, *project_, hidden) : hidden;
}

Tensor InputModules::convolve(const Tensor& x, const std::optional<Tensor>& weight,
                              const std::optional<Tensor>& bias, Meta output, Name name) {
  std::optional<Tensor> shift;
  const Tensor input = run_.autocast(x, name + ".input");
  const Tensor matrix = run_.autocast_weight(*weight, name + ".weight");
  if (bias) shift = run_.autocast_weight(*bias, name + ".bias");
  output.element = input.element;
  return ops::convolution(run_.tape, input, {matrix, shift}, output, name);
}

Tensor InputModules::pixels(std::uint64_t images) {
  const Input& input = stack_.input;
  const Element element = input.own_type ? Element::fp32 : first_weight_->element;
  if (input.frames > 0) {
    const std::uint64_t values =
        input.channels * input.frames * input.patch_size * input.patch_size;
    return run_.tape.empty("pixel_values", {{images * run_.grid.patches(), values}, element},
                           Component::other);
  }
  return run_.tape.empty("pixel_values",
                         {{images, input.channels, input.image_size, input.image_size}, element},
                         Component::other);
}

Tensor InputModules::embed_patches(const Tensor& pixels) {
  Tape& tape = run_.tape;
  const Input& input = stack_.input;
  const Element element = first_weight_->element;
  const Meta patches{input.frames > 0 ? Shape{1, pixels.shape[0], stack_.hidden}
                                      : Shape{pixels.shape[0], input.patches(), stack_.hidden},
                     element};
  const Tensor narrow = ops::cast(tape, pixels, element, "pixel_values.cast");
  if (input.named == Input::Named::nothing && given_.defined()) named_.push_back(narrow);
  Tensor hidden = convolve(narrow, first_weight_, first_bias_, patches, "patch_embeddings");
  // enable_input_require_grads() asks it of every embedding of the model, patches as well.
  if (asks_inputs_for_gradients() && input.own_type && !hidden.requires_grad())
    hidden = Tape::require_gradient(hidden);
  if (input.reorders) hidden = ops::take(tape, hidden, hidden.shape, "patches.by_window");
  if (!class_token_) return hidden;
  if (extra_tokens_ && input.extra_have_positions)
    return join_rows(tape, hidden, {*class_token_, *extra_tokens_}, "with_tokens");
  return ops::prepend(tape, hidden, *class_token_, "with_class_token");
}

// DINOv2's registers go between the class token and the patches: all three are joined anew.
Tensor InputModules::with_registers(const Tensor& hidden) {
  if (!extra_tokens_ || stack_.input.extra_have_positions) return hidden;
  Tape& tape = run_.tape;
  const Tensor first = ops::narrow(tape, hidden, 1, 1);
  const Tensor rest = ops::narrow(tape, hidden, 1, hidden.shape[1] - 1);
  return join_rows(tape, rest, {first, *extra_tokens_}, "with_registers");
}

// Of those that are not of text.
bool InputModules::asks_inputs_for_gradients() const {
  return run_.adapters() && run_.job.compute.checkpointing != Checkpointing::none &&
         run_.version >= all_inputs_want_gradients;
}

Tensor InputModules::embed_audio(std::uint64_t frames) {
  Tape& tape = run_.tape;
  const Element element = first_weight_->element;
  const Tensor features = given_ = tape.empty(
      "input_features", {{run_.batch, stack_.input.mel_bins, frames * audio_stride}, element},
      Component::other);
  const Meta first{{run_.batch, frames * audio_stride, stack_.hidden}, element};
  const Meta second{{run_.batch, frames, stack_.hidden}, element};
  Tensor hidden = convolve(features, first_weight_, first_bias_, first, "conv1");
  // It is what WhisperEncoder.get_input_embeddings() gives.
  if (asks_inputs_for_gradients() && !hidden.requires_grad())
    hidden = Tape::require_gradient(hidden);
  hidden = ops::gelu(tape, hidden, "conv1.activated");
  return ops::gelu(tape, convolve(hidden, second_weight_, second_bias_, second, "conv2"),
                   "conv2.activated");
}

Tensor InputModules::forward(std::uint64_t tokens) {
  Tape& tape = run_.tape;
  const std::uint64_t length = tokens_of(stack_, tokens);
  Tensor hidden;
  switch (stack_.input.kind) {
    case Input::Kind::tokens:
      hidden = embed_tokens(length);
      break;
    case Input::Kind::patches:
      given_ = pixels(run_.batch);
      hidden = embed_patches(given_);
      break;
    case Input::Kind::audio:
      hidden = embed_audio(length);
      break;
    case Input::Kind::waveform:
      given_ =
          tape.empty("input_values", {{run_.batch, 1, tokens}, run_.weights()}, Component::other);
      hidden = waveform_->forward(given_);
      break;
    case Input::Kind::numbers: {
      const Meta numbers{{run_.batch, length, stack_.input.features}, run_.weights()};
      hidden = apply(run_, *project_, tape.empty("input", numbers, Component::other));
      break;
    }
  }
  if (stack_.input.named == Input::Named::rows) named_.push_back(hidden);
  hidden = with_positions(std::move(hidden), length);
  if (stack_.input.named == Input::Named::whole) named_.push_back(hidden);
  return hidden;
}

Tensor InputModules::look(const Tensor& pixels) {
  const Tensor hidden = embed_patches(pixels);
  return with_positions(hidden, hidden.shape[1]);
}

Tensor InputModules::with_positions(Tensor hidden, std::uint64_t length) {
  Tape& tape = run_.tape;
  if (positions_) {
    const std::uint64_t samples = stack_.input.positions_by_sample ? hidden.shape[0] : 1;
    const Tensor rows =
        ops::take(tape, *positions_, {samples, length, hidden.shape.back()}, "positions");
    if (stack_.input.positions_by_sample) named_.push_back(rows);
    hidden = ops::add(tape, hidden, rows, "embeddings_with_positions");
  }
  hidden = with_registers(hidden);
  if (norm_) hidden = apply(run_, *norm_, hidden);
  hidden = run_.dropout(hidden, stack_.dropout.embedding, "embeddings.dropped");
  return stack_.input.projects_last ? apply(run_, *project_, hidden) : hidden;
}

}  // namespace headroom::estimate::transformers
