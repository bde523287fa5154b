// SPDX-License-Identifier: Apache-2.0
// The parameters of a model as headroom-train holds them, and how their gradients come about.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "estimate/job.h"
#include "estimate/model_config.h"
#include "estimate/pipeline.h"
#include "estimate/tape.h"

namespace headroom::estimate::ours {

inline constexpr std::size_t projection_count = 7;

struct Parameter {
  Tensor value;
  Tensor grad;  // Undefined until the first micro-batch of a step reaches it.
  bool trainable = false;
};

struct Linear {
  Name name;  // "q_proj"
  // [out, in]; null where a layer has no such projection. What is packed, of a quantised one.
  Parameter* weight = nullptr;
  Parameter* bias = nullptr;
  Parameter* lora_a = nullptr;  // [rank, in]
  Parameter* lora_b = nullptr;  // [out, rank]
  bool shares_adapter = false;  // Layer::qkv_adapter or gate_up_adapter, in place of its own.

  bool quantised = false;  // It is made whole for each product.
  std::uint64_t out = 0;
  std::uint64_t in = 0;

  bool exists() const { return weight != nullptr; }
  bool trains() const {
    return exists() && (weight->trainable || lora_a != nullptr || shares_adapter);
  }
};

struct Norm {
  Parameter* weight = nullptr;
  Parameter* bias = nullptr;  // Of LayerNorm.
};

struct Layer {
  Norm input_norm;
  Norm mlp_norm;
  Norm attention_out_norm;  // Null where what o gives is not normalised, as mlp_out_norm.
  Norm mlp_out_norm;
  Parameter* q_norm = nullptr;  // Null where heads are not normalised, as k_norm.
  Parameter* k_norm = nullptr;
  std::array<Linear, projection_count> projections;
  // Phi-3: of q, k and v together, and of gate and up. They have lora_a and lora_b alone, if any.
  Linear qkv_adapter, gate_up_adapter;
  bool gelu_gate = false;
  std::uint64_t window = 0;  // Keys that a query sees; 0: all before it.

  const Linear& operator[](Target t) const { return projections[static_cast<std::size_t>(t)]; }
  // As in trainer/layer.h.
  bool is_gated() const { return (*this)[Target::gate].exists(); }
  bool has_one_qkv() const { return !(*this)[Target::k].exists(); }
  bool any_trains(std::initializer_list<Target> targets) const;
  bool attention_trains() const;
  bool mlp_trains() const;
};

struct Parameters {
  // Of one stage's part of the model: `embedding` and `positions` are null behind the first one,
  // `final_norm` and `head` before the last one.
  Parameters(Tape& tape, const Job& job, const ModelConfig& model, const StagePart& part);
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  std::deque<Parameter> base;
  std::deque<Parameter> adapters;
  Parameter* embedding = nullptr;
  std::vector<Layer> layers;
  Parameter* positions = nullptr;
  Norm final_norm;
  Parameter* head = nullptr;

  std::deque<Parameter>& trainable() { return adapters.empty() ? base : adapters; }
};

}  // namespace headroom::estimate::ours
