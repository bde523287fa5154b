// SPDX-License-Identifier: Apache-2.0
#include "estimate/transformers_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "estimate/adamw.h"
#include "estimate/ops.h"
#include "estimate/projection.h"

namespace headroom::estimate {
namespace {

struct Layer {
  Tensor input_norm;
  Tensor post_attention_norm;
  Projection q, k, v, o, gate, up, down;

  Projection& of(Target target) {
    switch (target) {
      case Target::q:
        return q;
      case Target::k:
        return k;
      case Target::v:
        return v;
      case Target::o:
        return o;
      case Target::gate:
        return gate;
      case Target::up:
        return up;
      case Target::down:
        return down;
    }
    return q;
  }
};

class TransformersModel {
 public:
  TransformersModel(Tape& tape, const Job& job, const ModelConfig& model)
      : tape_(tape),
        job_(job),
        model_(model),
        element_(element_of(job.compute.dtype)),
        full_(job.method.kind == MethodKind::full) {
    embedding_ = weight("model.embed_tokens.weight", {model.vocabulary, model.hidden});
    for (std::uint64_t i = 0; i < model.layers; ++i) layers_.push_back(make_layer(i));
    norm_ = weight("model.norm.weight", {model.hidden});
    head_ = model.tied ? embedding_ : weight("lm_head.weight", {model.vocabulary, model.hidden});
    if (!full_) attach_adapters();
  }

  // One micro-batch forward and backward.
  void run() {
    tape_.set_phase(Phase::forward);
    const std::uint64_t batch = *job_.batch.micro;
    const std::uint64_t length = job_.batch.sequence;
    const Tensor ids =
        tape_.empty("input_ids", {{batch, length}, Element::int64}, Component::other);
    const Tensor mask =
        tape_.empty("attention_mask", {{batch, length}, Element::int64}, Component::other);
    const Tensor labels =
        tape_.empty("labels", {{batch, length}, Element::int64}, Component::other);
    Tensor logits;
    Tensor loss;
    {
      const Tensor hidden = decode(ids);
      const Scope scope(tape_, "head", Component::logits);
      logits = ops::linear(tape_, hidden, head_, std::nullopt, "logits");
      loss = cross_entropy(logits);
    }
    if (!job_.compute.keep_outputs) logits = {};
    tape_.set_phase(Phase::backward);
    Tensor seed = tape_.empty("loss.grad", loss);
    tape_.backward(loss, std::move(seed));
  }

  std::vector<Tensor>& trainable() { return trainable_; }

 private:
  Tensor weight(const std::string& name, Shape shape) {
    Tensor parameter =
        tape_.parameter(name, {std::move(shape), element_}, Component::weights, full_);
    if (full_) trainable_.push_back(parameter);
    return parameter;
  }

  Projection projection(const std::string& name, std::uint64_t in, std::uint64_t out, bool bias) {
    Projection made{name, weight(name + ".weight", {out, in}), {}, {}, {}};
    if (bias) made.bias = weight(name + ".bias", {out});
    return made;
  }

  // PEFT adds them when the model stands.
  void attach_adapters() {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const Scope scope(tape_, fmt::format("model.layers.{}", i));
      for (const Target target : job_.method.targets) {
        Projection& projection = layers_[i].of(target);
        projection.attach_adapter(tape_, job_.method);
        trainable_.push_back(*projection.lora_a);
        trainable_.push_back(*projection.lora_b);
      }
    }
  }

  Layer make_layer(std::uint64_t index) {
    const Scope scope(tape_, fmt::format("model.layers.{}", index));
    const std::uint64_t h = model_.hidden;
    Layer layer;
    layer.q = projection("self_attn.q_proj", h, model_.query_size(), model_.qkv_bias);
    layer.k = projection("self_attn.k_proj", h, model_.kv_size(), model_.qkv_bias);
    layer.v = projection("self_attn.v_proj", h, model_.kv_size(), model_.qkv_bias);
    layer.o = projection("self_attn.o_proj", model_.query_size(), h, model_.o_bias);
    layer.gate = projection("mlp.gate_proj", h, model_.intermediate, model_.mlp_bias);
    layer.up = projection("mlp.up_proj", h, model_.intermediate, model_.mlp_bias);
    layer.down = projection("mlp.down_proj", model_.intermediate, h, model_.mlp_bias);
    layer.input_norm = weight("input_layernorm.weight", {h});
    layer.post_attention_norm = weight("post_attention_layernorm.weight", {h});
    return layer;
  }

  Tensor decode(const Tensor& ids) {
    Tensor hidden = ops::embedding(tape_, ids, embedding_, "embeddings");
    const bool checkpointing = job_.compute.checkpointing == Checkpointing::layer;
    // PEFT: enable_input_require_grads, or nothing inside a checkpoint would get a gradient.
    if (checkpointing && !hidden.requires_grad()) hidden = Tape::detach(hidden, true);
    const Meta angles{{1, job_.batch.sequence, model_.head_dim}, hidden.element};
    cos_ = tape_.empty("cos", angles);
    sin_ = tape_.empty("sin", angles);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const auto run_layer = [this, i](Tape& tape, const Tensor& x) {
        const Scope scope(tape, fmt::format("layers.{}", i));
        return decoder_layer(layers_[i], x);
      };
      hidden = checkpointing ? ops::checkpoint(tape_, hidden, run_layer) : run_layer(tape_, hidden);
    }
    return rms_norm(hidden, norm_, "norm");
  }

  Tensor decoder_layer(const Layer& layer, const Tensor& x) {
    Tensor hidden = rms_norm(x, layer.input_norm, "input_layernorm");
    hidden = attention(layer, hidden);
    const Tensor residual = ops::add(tape_, x, hidden, "attention_residual");
    hidden = rms_norm(residual, layer.post_attention_norm, "post_attention_layernorm");
    hidden = mlp(layer, hidden);
    return ops::add(tape_, residual, hidden, "mlp_residual");
  }

  Tensor rms_norm(const Tensor& x, const Tensor& scale, const std::string& name) {
    const Scope scope(tape_, name);
    Tensor wide = ops::cast(tape_, x, Element::fp32, "fp32");
    const Tensor variance = ops::mean_last(tape_, ops::square(tape_, wide, "squared"), "variance");
    wide = ops::mul(tape_, wide, ops::rsqrt(tape_, variance, "rsqrt"), "normalized");
    return ops::mul(tape_, scale, ops::cast(tape_, wide, x.element, "narrow"), "output");
  }

  Tensor project(const Projection& projection, const Tensor& x) {
    return projection.apply(tape_, job_.method, x);
  }

  Tensor mlp(const Layer& layer, const Tensor& x) {
    const Scope scope(tape_, "mlp");
    const Tensor gate = project(layer.gate, x);
    const Tensor activated = ops::silu(tape_, gate, "activated");
    return project(layer.down, ops::mul(tape_, activated, project(layer.up, x), "product"));
  }

  Tensor rotate(const Tensor& x, const std::string& name) {
    const Tensor by_cos = ops::mul(tape_, x, cos_, name + ".cos");
    Tensor turned;
    {
      const std::uint64_t half = model_.head_dim / 2;
      const Tensor first = ops::narrow_last(tape_, x, half);
      const Tensor second = ops::narrow_last(tape_, x, half);
      turned = ops::concat_last(tape_, ops::scale(tape_, second, name + ".negated"), first,
                                name + ".rotated");
    }
    const Tensor by_sin = ops::mul(tape_, turned, sin_, name + ".sin");
    turned = {};
    return ops::add(tape_, by_cos, by_sin, name + ".embedded");
  }

  Tensor attention(const Layer& layer, const Tensor& x) {
    const Scope scope(tape_, "self_attn");
    const std::uint64_t batch = x.shape[0];
    const std::uint64_t length = x.shape[1];
    const auto heads = [&](const Tensor& t, std::uint64_t count) {
      return Tape::view(t, {batch, count, length, model_.head_dim});
    };
    Tensor q = heads(project(layer.q, x), model_.heads);
    Tensor k = heads(project(layer.k, x), model_.kv_heads);
    const Tensor v = heads(project(layer.v, x), model_.kv_heads);
    q = rotate(q, "q");
    k = rotate(k, "k");
    Tensor mixed;
    if (*job_.compute.attention == Attention::flash) {
      mixed = ops::flash_attention(tape_, q, k, v);
    } else {
      const Shape repeated = q.shape;
      const Tensor keys = ops::repeat_heads(tape_, k, repeated, "k.repeated");
      const Tensor values = ops::repeat_heads(tape_, v, repeated, "v.repeated");
      mixed = *job_.compute.attention == Attention::math ? attention_math(q, keys, values)
              : *job_.compute.attention == Attention::eager
                  ? attention_eager(q, keys, values)
                  : ops::flash_attention(tape_, q, keys, values);
    }
    return project(layer.o, Tape::view(mixed, {batch, length, model_.query_size()}));
  }

  // at::_scaled_dot_product_attention_math: both operands are scaled by the square root of the
  // scale, half types are computed in fp32, and a causal mask is made per call.
  Tensor attention_math(const Tensor& q, const Tensor& k, const Tensor& v) {
    const Tensor queries = ops::cast(tape_, q, Element::fp32, "q.fp32");
    const Tensor keys = ops::cast(tape_, k, Element::fp32, "k.fp32");
    const Tensor values = ops::cast(tape_, v, Element::fp32, "v.fp32");
    const Tensor scaled_q = ops::scale(tape_, queries, "q.scaled");
    const Tensor scaled_k = ops::scale(tape_, keys, "k.scaled");
    Tensor scores = ops::matmul(tape_, scaled_q, scaled_k, score_shape(q), "scores");
    {
      const Tensor mask =
          tape_.empty("causal_mask", {{q.shape[2], q.shape[2]}, Element::fp32});  // Added in place.
    }
    scores = ops::softmax(tape_, scores, "probabilities");
    const Tensor mixed = ops::matmul(tape_, scores, values, q.shape, "attention");
    return ops::cast(tape_, mixed, q.element, "attention.narrow");
  }

  // transformers' eager_attention_forward.
  Tensor attention_eager(const Tensor& q, const Tensor& k, const Tensor& v) {
    Tensor scores = ops::matmul(tape_, q, k, score_shape(q), "scores");
    scores = ops::scale(tape_, scores, "scores.scaled");
    const Tensor mask =
        tape_.empty("causal_mask", {{q.shape[0], 1, q.shape[2], q.shape[2]}, q.element});
    scores = ops::add(tape_, scores, mask, "scores.masked");
    Tensor wide = ops::softmax(tape_, ops::cast(tape_, scores, Element::fp32, "scores.fp32"),
                               "probabilities");
    scores = ops::cast(tape_, wide, q.element, "probabilities.narrow");
    wide = {};
    const Tensor mixed = ops::matmul(tape_, scores, v, q.shape, "attention");
    return ops::copy(tape_, mixed, q.shape, "attention.contiguous");
  }

  static Shape score_shape(const Tensor& q) {
    return {q.shape[0], q.shape[1], q.shape[2], q.shape[2]};
  }

  // ForCausalLMLoss since transformers 4.51: labels are shifted, not logits; logits are widened to
  // fp32.
  Tensor cross_entropy(const Tensor& logits) {
    const Tensor shifted = tape_.empty(
        "labels.shifted", {{logits.shape[0], logits.shape[1]}, Element::int64}, Component::other);
    const Tensor wide = ops::cast(tape_, logits, Element::fp32, "logits.fp32");
    const Tensor rows = Tape::view(wide, {logits.shape[0] * logits.shape[1], logits.shape[2]});
    return ops::nll_loss(tape_, ops::softmax(tape_, rows, "log_probabilities"));
  }

  Tape& tape_;
  const Job& job_;
  const ModelConfig& model_;
  Element element_;
  bool full_;
  Tensor embedding_, norm_, head_, cos_, sin_;
  std::vector<Layer> layers_;
  std::vector<Tensor> trainable_;
};

}  // namespace

Recording record_transformers(const Job& job, const ModelConfig& model, const Device& device,
                              std::uint64_t steps) {
  Recorder recorder;
  {
    Tape tape(recorder);
    // One for the thread of the forward, one for autograd's (CUDABlas.cpp,
    // getCurrentCUDABlasHandle).
    const Meta workspace{{device.blas_workspace.value}, Element::uint8};
    const Tensor forward_workspace = tape.empty("blas_workspace", workspace, Component::workspace);
    const Tensor backward_workspace = tape.empty("blas_workspace", workspace, Component::workspace);
    TransformersModel network(tape, job, model);
    AdamW optimizer(job.optimizer.foreach);
    for (std::uint64_t step = 0; step < steps; ++step) {
      // From the second micro-batch on, the gradients are there during the forward: more change
      // nothing.
      for (std::uint64_t i = 0; i < std::min<std::uint64_t>(job.batch.accumulate.value_or(1), 2);
           ++i) {
        network.run();
      }
      tape.set_phase(Phase::optimizer);
      optimizer.step(tape, network.trainable());
    }
  }
  return recorder.take();
}

}  // namespace headroom::estimate
