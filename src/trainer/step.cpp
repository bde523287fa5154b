// SPDX-License-Identifier: Apache-2.0
#include "trainer/step.h"

#include <ATen/ATen.h>

#include <cmath>
#include <utility>

#include "trainer/offloaded_layer.h"
#include "trainer/ops/loss.h"
#include "trainer/ops/product.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

using allocator::Component;
using estimate::Checkpointing;
using estimate::Loss;

// `layer`: of those that are here.
Pass make_pass(const Model& model, const MicroBatch& batch, std::size_t layer,
               std::optional<std::uint64_t> dropout_seed) {
  const estimate::ModelConfig& config = model.config();
  return {.shape = {.batch = batch.batch,
                    .sequence = batch.sequence,
                    .heads = static_cast<std::int64_t>(config.heads),
                    .kv_heads = static_cast<std::int64_t>(config.kv_heads),
                    .head_dim = static_cast<std::int64_t>(config.head_dim),
                    .window =
                        static_cast<std::int64_t>(config.window(model.part().first_layer + layer)),
                    .query_scalar = config.query_scalar,
                    .cap = config.score_cap,
                    .cu_seqlens = batch.cu_seqlens},
          .rotary = model.rotary(),
          .norm_eps = config.rms_norm_eps,
          .attention = model.options().attention,
          .dropout_seed = dropout_seed};
}

// The same where the model is.
MicroBatch on_device(MicroBatch batch, const Model& model) {
  const TagScope scope(Component::other);
  batch.ids = batch.ids.to(model.options().device);
  batch.targets = batch.targets.to(model.options().device);
  return batch;
}

// For each layer, what its backward pass needs; nothing below the lowest trained parameter.
std::vector<Keep> plan_keeping(Model& model) {
  std::vector<Keep> keeps;
  // Of a split model every part has something that trains.
  bool below = !model.part().is_first() || model.embedding().trainable;
  for (const Layer& layer : model.layers()) {
    const bool trains = layer.attention_trains() || layer.mlp_trains();
    keeps.push_back({.anything = below || trains,
                     .input_gradient = below,
                     .products_only = model.options().checkpointing == Checkpointing::selective});
    below = below || trains;
  }
  return keeps;
}

// What the embedding's rows are multiplied by: Gemma's √hidden, rounded to the type of the weights.
double embedding_scale(const Model& model) {
  if (!model.config().gemma) return 1;
  const double root = std::sqrt(static_cast<double>(model.config().hidden));
  if (model.options().dtype == at::kDouble) return root;
  const auto narrow = static_cast<float>(root);
  return model.options().dtype == at::kBFloat16 ? static_cast<float>(c10::BFloat16(narrow))
                                                : narrow;
}

at::Tensor embed(Model& model, const MicroBatch& batch) {
  const TagScope scope(Component::activations);
  at::Tensor hidden = at::index_select(model.embedding().value, 0, batch.ids);
  if (model.config().gemma) hidden.mul_(embedding_scale(model));
  if (const Parameter* positions = model.positions()) {
    for (const ops::Segment& sample : batch.segments())
      hidden.narrow(0, sample.first, sample.length)
          .add_(positions->value.narrow(0, 0, sample.length));
  }
  return hidden;
}

// Samples are added one after the other.
void positions_backward(Parameter& positions, const MicroBatch& batch, const at::Tensor& grad) {
  if (!positions.grad.defined()) {
    const TagScope scope(Component::gradients);
    positions.grad = at::zeros_like(positions.value);
  }
  for (const ops::Segment& sample : batch.segments())
    positions.grad.narrow(0, 0, sample.length).add_(grad.narrow(0, sample.first, sample.length));
}

void embedding_backward(Parameter& embedding, const at::Tensor& ids, const at::Tensor& grad) {
  if (!embedding.grad.defined()) {
    const TagScope scope(Component::gradients);
    embedding.grad = at::zeros_like(embedding.value);
  }
  embedding.grad.index_add_(0, ids, grad);
}

// Head, loss and their backward pass. Takes `hidden`; returns d (scale · loss) / d hidden.
ops::LossResult head_and_loss(Model& model, at::Tensor hidden, const at::Tensor& targets,
                              double scale) {
  const TagScope scope(Component::activations);
  ops::NormResult normed = ops::normalise(hidden, model.final_norm(), model.config().rms_norm_eps);
  const auto loss = model.options().loss == Loss::chunked ? ops::chunked_loss : ops::eager_loss;
  ops::LossResult result =
      loss({normed.out, targets, scale, model.config().logit_cap}, model.head());
  normed.out.reset();
  ops::normalise_backward_(result.dx, hidden, normed.stats, model.final_norm());
  return result;
}

at::Tensor normalise_last(Model& model, const at::Tensor& hidden) {
  const TagScope scope(Component::activations);
  return ops::normalise(hidden, model.final_norm(), model.config().rms_norm_eps).out;
}

}  // namespace

StageRun::StageRun(Model& model, MicroBatch batch, double scale, std::uint64_t seed)
    : model_(model),
      batch_(on_device(std::move(batch), model)),
      scale_(scale),
      seed_(seed),
      checkpointed_(model.options().checkpointing == Checkpointing::layer),
      keeps_(plan_keeping(model)),
      saved_(keeps_.size()) {}

at::Tensor StageRun::run(std::size_t layer, const at::Tensor& hidden, Keep keep) {
  return trainer::forward(model_.layers()[layer], hidden, pass(layer), keep, saved_[layer]);
}

Pass StageRun::pass(std::size_t layer) const {
  return make_pass(model_, batch_, layer, mix_seed(seed_, model_.part().first_layer + layer));
}

at::Tensor StageRun::forward(at::Tensor received) {
  at::Tensor hidden =
      model_.part().is_first() ? embed(model_, batch_) : std::exchange(received, {});
  for (std::size_t i = 0; i < keeps_.size(); ++i) {
    const Keep keep = checkpointed_ ? Keep{} : keeps_[i];
    at::Tensor out = run(i, hidden, keep);
    // A checkpointed layer keeps its input alone.
    if (checkpointed_ && keeps_[i].anything) saved_[i].x = hidden;
    hidden = std::move(out);
    if (HostDomain* host = model_.options().activations_host) to_host(saved_[i], *host);
  }
  if (!model_.part().is_last()) return hidden;
  ops::LossResult loss = head_and_loss(model_, std::move(hidden), batch_.targets, scale_);
  loss_ = loss.sum;
  grad_ = std::move(loss.dx);
  return {};
}

at::Tensor StageRun::backward(at::Tensor received) {
  at::Tensor grad =
      model_.part().is_last() ? std::exchange(grad_, {}) : std::exchange(received, {});
  for (std::size_t i = keeps_.size(); i-- > 0 && keeps_[i].anything;) {
    if (model_.options().activations_host != nullptr) to_device(saved_[i], model_.options().device);
    if (checkpointed_) run(i, at::Tensor(saved_[i].x), keeps_[i]);
    trainer::backward(model_.layers()[i], pass(i), keeps_[i], saved_[i], grad);
  }
  if (!model_.part().is_first()) return grad;
  if (model_.config().gemma && model_.embedding().trainable) grad.mul_(embedding_scale(model_));
  if (model_.embedding().trainable) embedding_backward(model_.embedding(), batch_.ids, grad);
  if (Parameter* positions = model_.positions(); positions != nullptr && positions->trainable)
    positions_backward(*positions, batch_, grad);
  return {};
}

double train_micro_batch(Model& model, const MicroBatch& batch, double scale, std::uint64_t seed) {
  StageRun run(model, batch, scale, seed);
  run.forward({});
  run.backward({});
  return run.loss();
}

at::Tensor forward_only(Model& model, const MicroBatch& batch, at::Tensor received) {
  at::Tensor hidden = model.part().is_first() ? embed(model, batch) : std::exchange(received, {});
  for (std::size_t i = 0; i < model.layers().size(); ++i) {
    LayerSaved saved;
    hidden =
        forward(model.layers()[i], hidden, make_pass(model, batch, i, std::nullopt), {}, saved);
  }
  return hidden;
}

double evaluate_head(Model& model, const MicroBatch& batch, at::Tensor hidden) {
  const at::Tensor normed = normalise_last(model, std::exchange(hidden, {}));
  const TagScope scope(Component::activations);
  return ops::evaluate_loss({normed, batch.targets, 1, model.config().logit_cap}, model.head());
}

double evaluate_micro_batch(Model& model, const MicroBatch& given) {
  const MicroBatch batch = on_device(given, model);
  return evaluate_head(model, batch, forward_only(model, batch, {}));
}

at::Tensor compute_logits(Model& model, const MicroBatch& given) {
  const MicroBatch batch = on_device(given, model);
  const at::Tensor hidden = normalise_last(model, forward_only(model, batch, {}));
  const TagScope scope(Component::logits);
  at::Tensor logits = ops::product(hidden, model.head().value.t());
  if (model.config().logit_cap > 0) ops::soft_cap_(logits, model.config().logit_cap);
  return logits;
}

}  // namespace headroom::trainer
