// SPDX-License-Identifier: Apache-2.0
// Models and batches small enough for exact comparison, and the plainest possible implementation of
// the same model on libtorch's autograd: one graph, no custom operation, one sample at a time
// without padding.
#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "trainer/model.h"
#include "trainer/ops/loss.h"
#include "trainer/step.h"

namespace headroom::trainer::testing {

// Grouped heads, a bias on q, k and v, an untied head.
inline estimate::ModelConfig tiny_config() {
  estimate::ModelConfig config;
  config.family = "qwen2";
  config.hidden = 12;
  config.intermediate = 20;
  config.layers = 3;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 6;
  config.vocabulary = 17;
  config.qkv_bias = true;
  return config;
}

inline estimate::ModelConfig tiny_gpt2_config() {
  estimate::ModelConfig config;
  config.family = "gpt2";
  config.hidden = 12;
  config.intermediate = 20;
  config.layers = 3;
  config.heads = config.kv_heads = 4;
  config.head_dim = 3;
  config.vocabulary = 17;
  config.tied = true;
  config.qkv_bias = config.o_bias = config.mlp_bias = true;
  config.position_rows = 300;
  return config;
}

// Gemma 2 with caps so low that they bend, and a scale of scores that is not that of heads.
inline estimate::ModelConfig tiny_gemma2_config() {
  estimate::ModelConfig config = tiny_config();
  config.family = "gemma2";
  config.qkv_bias = false;
  config.tied = config.gemma = config.norms_around = true;
  config.windows = {4, 0, 4};
  config.query_scalar = 10;
  config.score_cap = 1.5;
  config.logit_cap = 2;
  return config;
}

inline ModelOptions fp64_options() {
  ModelOptions options;
  options.dtype = at::kDouble;
  options.longest = 300;
  return options;
}

inline LoraOptions fp64_lora() {
  using estimate::Target;
  return {.rank = 3,
          .alpha = 5,
          .dropout = 0,
          .targets = {Target::q, Target::v, Target::o, Target::gate, Target::down},
          .dtype = at::kDouble};
}

// Every parameter random and far from its initial value, so that no term of a gradient is zero.
inline std::unique_ptr<Model> random_model(const estimate::ModelConfig& config,
                                           const ModelOptions& options) {
  auto model = std::make_unique<Model>(config, options);
  const at::Generator generator = at::detail::createCPUGenerator(7);
  for (auto* parameters : {&model->base(), &model->adapters()}) {
    for (Parameter& parameter : *parameters) {
      const std::string& name = parameter.name;
      const bool norm = name.ends_with("norm.weight") ||
                        (name.find(".ln_") != std::string::npos && name.ends_with(".weight"));
      parameter.value.normal_(norm && !config.gemma ? 1 : 0, 0.3, generator);
    }
  }
  return model;
}

using Sample = std::vector<std::int64_t>;

inline std::vector<Sample> random_samples(const std::vector<std::size_t>& lengths,
                                          std::uint64_t vocabulary) {
  std::mt19937 random(3);
  std::vector<Sample> samples;
  for (const std::size_t length : lengths) {
    Sample& sample = samples.emplace_back();
    while (sample.size() < length) {
      sample.push_back(static_cast<std::int64_t>(random() % vocabulary));
    }
  }
  return samples;
}

inline MicroBatch pad(const std::vector<Sample>& samples) {
  std::size_t longest = 0;
  for (const Sample& sample : samples) longest = std::max(longest, sample.size());
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> targets;
  for (const Sample& sample : samples) {
    for (std::size_t i = 0; i < longest; ++i) {
      ids.push_back(i < sample.size() ? sample[i] : 0);
      targets.push_back(i + 1 < sample.size() ? sample[i + 1] : ops::ignored_target);
    }
  }
  const auto options = at::TensorOptions().dtype(at::kLong);
  const auto count = static_cast<std::int64_t>(ids.size());
  return {at::from_blob(ids.data(), {count}, options).clone(),
          at::from_blob(targets.data(), {count}, options).clone(),
          static_cast<std::int64_t>(samples.size()), static_cast<std::int64_t>(longest)};
}

// The same samples end to end, without padding.
inline MicroBatch lay_end_to_end(const std::vector<Sample>& samples) {
  MicroBatch batch;
  batch.cu_seqlens = {0};
  std::vector<at::Tensor> ids, targets;
  for (const Sample& sample : samples) {
    const MicroBatch one = pad({sample});
    ids.push_back(one.ids);
    targets.push_back(one.targets);
    batch.batch += 1;
    batch.sequence = std::max(batch.sequence, one.sequence);
    batch.cu_seqlens.push_back(batch.cu_seqlens.back() + one.sequence);
  }
  batch.ids = at::cat(ids);
  batch.targets = at::cat(targets);
  return batch;
}

// Loss (summed over all next tokens) and gradients by name, from autograd.
struct Reference {
  double loss = 0;
  std::map<std::string, at::Tensor> gradients;
};

class ReferenceModel {
 public:
  explicit ReferenceModel(Model& model) : config_(model.config()), options_(model.options()) {
    for (auto* parameters : {&model.base(), &model.adapters()}) {
      for (const Parameter& parameter : *parameters) {
        weights_[parameter.name] =
            parameter.value.detach().clone().set_requires_grad(parameter.trainable);
      }
    }
    if (config_.tied)
      weights_["lm_head.weight"] =
          weights_[config_.is_gpt2() ? "transformer.wte.weight" : "model.embed_tokens.weight"];
  }

  Reference run(const std::vector<Sample>& samples, double scale) {
    at::Tensor total = at::zeros({}, options_.dtype);
    for (const Sample& sample : samples) {
      std::vector<std::int64_t> ids = sample;
      const at::Tensor tokens =
          at::from_blob(ids.data(), {static_cast<std::int64_t>(ids.size())}, at::kLong).clone();
      const at::Tensor all = at::log_softmax(logits(tokens), -1);
      const std::int64_t last = tokens.size(0) - 1;
      total =
          total - all.narrow(0, 0, last).gather(1, tokens.narrow(0, 1, last).unsqueeze(1)).sum();
    }
    (total * scale).backward();
    Reference result{total.item<double>(), {}};
    if (config_.tied) weights_.erase("lm_head.weight");
    for (const auto& [name, weight] : weights_) {
      if (weight.grad().defined()) result.gradients[name] = weight.grad();
    }
    return result;
  }

 private:
  at::Tensor gpt2_logits(const at::Tensor& tokens) {
    const std::string model = "transformer.";
    at::Tensor x = weights_[model + "wte.weight"].index({tokens}) +
                   weights_[model + "wpe.weight"].narrow(0, 0, tokens.size(0));
    const auto hidden = static_cast<std::int64_t>(config_.hidden);
    for (std::uint64_t i = 0; i < config_.layers; ++i) {
      const std::string prefix = fmt::format("{}h.{}.", model, i);
      const at::Tensor all = conv1d(layer_norm(x, prefix + "ln_1"), prefix + "attn.c_attn");
      const at::Tensor out =
          attend(heads(all.narrow(1, 0, hidden)), heads(all.narrow(1, hidden, hidden)),
                 heads(all.narrow(1, 2 * hidden, hidden)), 0);
      x = x + conv1d(out, prefix + "attn.c_proj");
      const at::Tensor up = conv1d(layer_norm(x, prefix + "ln_2"), prefix + "mlp.c_fc");
      const at::Tensor bent = at::tanh((up + 0.044715 * up.pow(3)) * std::sqrt(2 / M_PI));
      x = x + conv1d(0.5 * up * (1 + bent), prefix + "mlp.c_proj");
    }
    return at::matmul(layer_norm(x, model + "ln_f"), weights_["lm_head.weight"].t());
  }

  at::Tensor layer_norm(const at::Tensor& x, const std::string& name) {
    const at::Tensor off = x - x.mean(-1, /*keepdim=*/true);
    const at::Tensor variance = (off * off).mean(-1, /*keepdim=*/true);
    return off * at::rsqrt(variance + config_.rms_norm_eps) * weights_[name + ".weight"] +
           weights_[name + ".bias"];
  }

  at::Tensor conv1d(const at::Tensor& x, const std::string& name) {
    return at::matmul(x, weights_[name + ".weight"]) + weights_[name + ".bias"] + adapted(x, name);
  }

  at::Tensor logits(const at::Tensor& tokens) {
    if (config_.is_gpt2()) return gpt2_logits(tokens);
    at::Tensor x = weights_["model.embed_tokens.weight"].index({tokens});
    if (config_.gemma) x = x * std::sqrt(static_cast<double>(config_.hidden));
    for (std::uint64_t i = 0; i < config_.layers; ++i) {
      const std::string prefix = fmt::format("model.layers.{}.", i);
      const at::Tensor attended =
          attention(norm(x, prefix + "input_layernorm"), prefix + "self_attn.", config_.window(i));
      if (config_.norms_around) {
        x = x + norm(attended, prefix + "post_attention_layernorm");
        x = x + norm(mlp(norm(x, prefix + "pre_feedforward_layernorm"), prefix + "mlp."),
                     prefix + "post_feedforward_layernorm");
      } else {
        x = x + attended;
        x = x + mlp(norm(x, prefix + "post_attention_layernorm"), prefix + "mlp.");
      }
    }
    return cap(at::matmul(norm(x, "model.norm"), weights_["lm_head.weight"].t()),
               config_.logit_cap);
  }

  static at::Tensor cap(const at::Tensor& x, double cap) {
    return cap > 0 ? cap * at::tanh(x / cap) : x;
  }

  at::Tensor mlp(const at::Tensor& x, const std::string& prefix) {
    const at::Tensor gate = linear(x, prefix + "gate_proj");
    return linear(
        (config_.gemma ? at::gelu(gate, "tanh") : at::silu(gate)) * linear(x, prefix + "up_proj"),
        prefix + "down_proj");
  }

  at::Tensor norm(const at::Tensor& x, const std::string& name) {
    const at::Tensor variance = (x * x).mean(-1, /*keepdim=*/true);
    const at::Tensor& weight = weights_[name + ".weight"];
    return x * at::rsqrt(variance + config_.rms_norm_eps) * (config_.gemma ? 1 + weight : weight);
  }

  at::Tensor linear(const at::Tensor& x, const std::string& name) {
    at::Tensor y = at::matmul(x, weights_[name + ".weight"].t());
    if (weights_.contains(name + ".bias")) y = y + weights_[name + ".bias"];
    return y + adapted(x, name);
  }

  at::Tensor adapted(const at::Tensor& x, const std::string& name) {
    if (!weights_.contains(name + ".lora_A.weight")) return at::zeros({1}, options_.dtype);
    const double scale = options_.lora->alpha / static_cast<double>(options_.lora->rank);
    const at::Tensor a = weights_[name + ".lora_A.weight"].t();
    return at::matmul(at::matmul(x, a), weights_[name + ".lora_B.weight"].t()) * scale;
  }

  at::Tensor heads(const at::Tensor& rows) const {  // [heads, sequence, head_dim]
    const auto dim = static_cast<std::int64_t>(config_.head_dim);
    return rows.reshape({rows.size(0), -1, dim}).transpose(0, 1);
  }

  at::Tensor rotate(const at::Tensor& x) const {  // [heads, sequence, head_dim]
    const auto dim = static_cast<std::int64_t>(config_.head_dim);
    const at::Tensor i = at::arange(dim / 2, options_.dtype);
    const at::Tensor angles = at::arange(x.size(1), options_.dtype).unsqueeze(1) *
                              at::pow(config_.rope_theta, i * (-2.0 / static_cast<double>(dim)));
    const at::Tensor both = at::cat({angles, angles}, -1);
    const at::Tensor turned =
        at::cat({x.narrow(-1, dim / 2, dim / 2).neg(), x.narrow(-1, 0, dim / 2)}, -1);
    return x * both.cos() + turned * both.sin();
  }

  at::Tensor attention(const at::Tensor& x, const std::string& prefix, std::uint64_t window) {
    const auto group = static_cast<std::int64_t>(config_.heads / config_.kv_heads);
    const auto normed = [&](const at::Tensor& heads, const char* name) {
      return config_.qk_norm ? norm(heads, prefix + name) : heads;
    };
    const at::Tensor q = rotate(normed(heads(linear(x, prefix + "q_proj")), "q_norm"));
    const at::Tensor k =
        rotate(normed(heads(linear(x, prefix + "k_proj")), "k_norm")).repeat_interleave(group, 0);
    const at::Tensor v = heads(linear(x, prefix + "v_proj")).repeat_interleave(group, 0);
    return linear(attend(q, k, v, window), prefix + "o_proj");
  }

  // [sequence, heads · head_dim]
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    std::uint64_t window) const {
    const std::int64_t length = q.size(1);
    const at::Tensor distance = at::arange(length).unsqueeze(1) - at::arange(length);
    at::Tensor hidden = distance < 0;
    if (window > 0) hidden = hidden.logical_or(distance >= static_cast<std::int64_t>(window));
    const double divisor =
        config_.query_scalar > 0 ? config_.query_scalar : static_cast<double>(config_.head_dim);
    const at::Tensor scores =
        cap(at::matmul(q, k.transpose(1, 2)) / std::sqrt(divisor), config_.score_cap);
    const at::Tensor weights = at::softmax(scores.masked_fill(hidden, -INFINITY), -1);
    return at::matmul(weights, v).transpose(0, 1).reshape({length, -1});
  }

  estimate::ModelConfig config_;
  ModelOptions options_;
  std::map<std::string, at::Tensor> weights_;
};

}  // namespace headroom::trainer::testing
