// SPDX-License-Identifier: Apache-2.0
// A decoder-only transformer of the Llama, Mistral, Qwen2, Qwen3, Phi-3, Gemma, Gemma 2 and GPT-2
// families: its parameters, named as in Hugging Face, and how they are wired into layers. What a
// step does with them is in step.h.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorOptions.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "estimate/job.h"
#include "estimate/model_config.h"
#include "estimate/pipeline.h"
#include "trainer/data/mix_seed.h"
#include "trainer/layer.h"
#include "trainer/ops/rotary.h"
#include "trainer/parameter.h"

namespace headroom::trainer {

class HostDomain;

struct LoraOptions {
  std::int64_t rank = 8;
  double alpha = 16;
  double dropout = 0;
  std::vector<estimate::Target> targets;
  at::ScalarType dtype = at::kFloat;  // Of the adapter's matrices.
};

struct ModelOptions {
  at::ScalarType dtype = at::kFloat;  // Of the weights and of the hidden states.
  std::optional<LoraOptions> lora;    // Without it, every weight trains.
  estimate::Attention attention = estimate::Attention::efficient;  // Or math.
  estimate::Checkpointing checkpointing = estimate::Checkpointing::none;
  estimate::Loss loss = estimate::Loss::eager;
  std::int64_t longest = 1024;  // Positions that the rotary tables cover.
  // Of a model that is split over processes, this one's part; none: all of it is here.
  std::optional<estimate::StagePart> part = {};
  // How the matrices of layers are kept, where they are quantised: nf4, nf4_dq or int8. Embedding,
  // head, norms and biases never are. Requires: lora.
  std::optional<estimate::WeightFormat> quantised = {};
  at::Device device = at::kCPU;            // Where it is and computes.
  HostDomain* activations_host = nullptr;  // Where what layers keep waits; null: on the device.

  // Its number, where that is a GPU.
  std::optional<int> gpu() const {
    return device.is_cpu() ? std::nullopt : std::optional<int>(device.index());
  }
  at::TensorOptions tensors(at::ScalarType type) const {
    return at::TensorOptions().dtype(type).device(device);
  }
};

// Owns its parameters; layers point into it, so it is neither copied nor moved.
//
// Of a split model it has one part alone: what names all layers or parameters means those that are
// here. The first part has the embedding and the positions, the last one the final norm and the
// head. A head that is tied is a copy of the embedding there (Parameter::is_copy).
class Model {
 public:
  // Allocates every parameter (tags weights, adapters; the rotary tables, where heads are turned:
  // other), uninitialised.
  Model(const estimate::ModelConfig& config, ModelOptions options);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const estimate::ModelConfig& config() const { return config_; }
  const ModelOptions& options() const { return options_; }
  const ops::RotaryTables& rotary() const { return rotary_; }

  const estimate::StagePart& part() const { return part_; }
  // Whether a tensor of this name belongs to another part of the model.
  bool is_elsewhere(const std::string& name) const;

  Parameter& embedding() { return *embedding_; }  // Of the first part, as positions().
  const std::vector<Layer>& layers() const { return layers_; }  // From part().first_layer on.
  // [position_rows, hidden], added to the embedding; null where heads are turned.
  Parameter* positions() { return positions_; }
  const ops::Norm& final_norm() const { return final_norm_; }  // Of the last part, as head().
  Parameter& head() { return *head_; }  // The embedding itself if the head is tied.

  std::deque<Parameter>& base() { return base_; }          // In Hugging Face's order.
  std::deque<Parameter>& adapters() { return adapters_; }  // lora_A before lora_B, layer by layer.
  // The base as files hold it. Where several of its parameters are rows of one matrix there, they
  // are here as well: views of it.
  struct Stored {
    std::string name;
    at::Tensor value;  // Undefined where it is quantised.
    bool is_copy = false;
    std::shared_ptr<QuantisedMatrix> quantised = {};
  };
  const std::vector<Stored>& stored() const { return stored_; }
  // What the optimizer moves: the adapters if there are any, else the base.
  std::deque<Parameter>& trainable() { return options_.lora ? adapters_ : base_; }

  // As Hugging Face and PEFT begin: base weights N(0, 0.02²), those of the projections that write
  // to the residual stream divided by √(2·layers), norms 1 (Gemma's, to which 1 is added, 0),
  // biases 0; adapters A uniform in ±1/√in and B zero. The same seed gives the same values, however
  // the model is split.
  void initialise_base(std::uint64_t seed);
  void initialise_adapters(std::uint64_t seed);

 private:
  Parameter* add(const std::string& name, at::IntArrayRef shape);
  Parameter* add_rows(const std::string& name, std::int64_t rows);
  Parameter* add_matrix(const std::string& name, std::int64_t out, std::int64_t in);
  Stored make_quantised(const std::string& name, std::int64_t out, std::int64_t in) const;
  void begin_fused(const std::string& name, std::initializer_list<estimate::Target> targets);
  ops::Norm add_norm(const std::string& name);
  void add_layers();
  void add_layer(std::int64_t index);
  void add_gpt2_layer(std::int64_t index);
  void add_projection(Layer& layer, estimate::Target target, const std::string& name);
  std::optional<ops::Adapter> add_adapter(const std::string& name, estimate::Target target);

  estimate::ModelConfig config_;
  ModelOptions options_;
  estimate::StagePart part_;
  // Numbers of what other parts have before this one's first layer, and in it.
  std::uint64_t base_in_layer_ = 0, adapters_in_layer_ = 0;
  std::deque<Parameter> base_;
  std::deque<Parameter> adapters_;
  std::vector<Stored> stored_;
  std::int64_t next_row_ = 0;  // Of the last of stored_, while a fused matrix is shared out.
  Parameter* embedding_ = nullptr;
  std::vector<Layer> layers_;
  Parameter* positions_ = nullptr;
  ops::Norm final_norm_;
  Parameter* head_ = nullptr;
  ops::RotaryTables rotary_;
};

// "self_attn.q_proj", "mlp.gate_proj", …; in GPT-2 "attn.c_attn" for q, "mlp.c_fc" for up, ….
// Requires: such a layer has it.
std::string module_name(const estimate::ModelConfig& config, estimate::Target target);
// The modules with adapters as PEFT lists them in target_modules: "q_proj", in GPT-2 "c_attn".
std::vector<std::string> adapted_modules(const estimate::ModelConfig& config,
                                         const std::vector<estimate::Target>& targets);

// Bytes of the parameters that such a model allocates; what any training of it needs at least.
struct ParameterBytes {
  std::uint64_t weights = 0;
  std::uint64_t adapters = 0;
};
ParameterBytes parameter_bytes(const estimate::ModelConfig& config, const ModelOptions& options);

// Trained parameters of one shape.
struct TrainedShape {
  std::uint64_t rows = 0;  // 0: vectors of `columns` numbers.
  std::uint64_t columns = 0;
  std::uint64_t count = 1;

  std::uint64_t numbers() const { return std::max<std::uint64_t>(rows, 1) * columns; }
};
// Every parameter that Model::trainable() will have, in any order.
std::vector<TrainedShape> trained_shapes(const estimate::ModelConfig& config,
                                         const ModelOptions& options);

}  // namespace headroom::trainer
