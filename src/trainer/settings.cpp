// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "estimate/engine_support.h"
#include "estimate/model_config.h"
#include "trainer/data/epoch.h"
#include "trainer/data/job_source.h"
#include "trainer/optimizer_settings.h"
#include "trainer/supported_config.h"

namespace headroom::trainer {
namespace {

using estimate::Attention;
using estimate::DType;
using estimate::EngineKind;
using estimate::Job;
using estimate::MethodKind;
using estimate::Target;

at::ScalarType scalar_type(DType dtype) {
  return dtype == DType::bf16 ? at::kBFloat16 : at::kFloat;
}

Error unsupported(std::string key, std::string found, std::string wanted) {
  return {Errc::unsupported,
          fmt::format("{} = {}: headroom-train cannot do this", key, std::move(found)),
          std::move(wanted)};
}

Status refuse_what_cannot_be_done(const Job& job) {
  if (job.engine.kind != EngineKind::headroom) {
    return unsupported("engine.kind", fmt::format("\"{}\"", to_string(job.engine.kind)),
                       "write [engine] kind = \"headroom\"");
  }
  for (const auto& [key, dtype] : {std::pair{"compute.dtype", job.compute.dtype},
                                   {"method.adapter_dtype", job.method.adapter_dtype}}) {
    if (dtype == DType::fp16) {
      return unsupported(key, "\"fp16\"", "write fp32, or bf16 for half the memory");
    }
  }
  HEADROOM_CHECK(estimate::check_engine(job));
  if (job.compute.keep_outputs) {
    return unsupported("compute.keep_outputs", "true", "leave it out: a step's outputs are freed");
  }
  if (job.device.allocator != "headroom") {
    return unsupported("device.allocator", fmt::format("\"{}\"", job.device.allocator),
                       "leave it out; headroom replay shows how other allocators would do");
  }
  if (job.data.paths.empty()) {
    return Error{Errc::invalid, "data.path: expected files or folders to train on, found none",
                 "write [data] path = \"folder with .txt or .md files\""};
  }
  const Job::Batch& batch = job.batch;
  if (!batch.micro || (!batch.accumulate && (!batch.global || *batch.global % *batch.micro != 0))) {
    return Error{
        Errc::invalid,
        "batch: expected numbers for micro and accumulate (or a global that micro divides)",
        "write micro = 1 and accumulate = 1 under [batch]"};
  }
  return Done{};
}

bool has_adapters(const Job& job) {
  return job.method.kind == MethodKind::lora || job.method.kind == MethodKind::qlora;
}

ModelOptions make_options(const Job& job) {
  ModelOptions options;
  options.dtype = scalar_type(job.compute.dtype);
  if (has_adapters(job)) {
    options.lora = LoraOptions{.rank = static_cast<std::int64_t>(job.method.rank),
                               .alpha = job.method.alpha,
                               .dropout = job.method.dropout,
                               .targets = job.method.targets,
                               .dtype = scalar_type(job.method.adapter_dtype)};
  }
  options.attention = job.compute.attention.value_or(Attention::efficient);
  options.checkpointing = job.compute.checkpointing;
  options.loss = job.compute.loss;
  options.longest = static_cast<std::int64_t>(job.batch.sequence);
  if (job.method.kind == MethodKind::qlora) options.quantised = job.method.base;
  return options;
}

// Phi-3's q, k and v are rows of one matrix, with one adapter; so are gate and up.
Status refuse_fused_targets(const Job& job, const estimate::ModelConfig& model) {
  if (!model.fused || !has_adapters(job)) return Done{};
  using enum Target;
  const std::vector<Target>& targets = job.method.targets;
  for (const auto& group : {std::vector{q, k, v}, {gate, up}}) {
    std::string found, missing;
    for (const Target target : group) {
      const bool given = std::find(targets.begin(), targets.end(), target) != targets.end();
      std::string& list = given ? found : missing;
      list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", to_string(target));
    }
    if (found.empty() || missing.empty()) continue;
    return Error{Errc::unsupported,
                 fmt::format("method.targets: expected modules of a {} model, which are "
                             "\"qkv_proj\" (q, k and v together), \"o\", \"gate_up_proj\" (gate "
                             "and up together) and \"down\"; found {} without {}",
                             model.family, found, missing),
                 "write targets = [\"qkv_proj\", \"gate_up_proj\"]"};
  }
  return Done{};
}

// GPT-2's q, k and v are columns of one matrix, with one adapter.
Status refuse_split_targets(const Job& job, const estimate::ModelConfig& model) {
  if (!model.is_gpt2() || !has_adapters(job)) return Done{};
  const std::vector<Target>& targets = job.method.targets;
  const auto given = [&](Target target) {
    return std::count(targets.begin(), targets.end(), target);
  };
  const auto of_three = given(Target::q) + given(Target::k) + given(Target::v);
  const auto others = given(Target::o) + given(Target::up) + given(Target::down);
  // All of every family's are all that there are.
  const bool names_gate = given(Target::gate) > 0 && targets.size() < projection_count;
  if (!names_gate && (of_three == 3 || (of_three == 0 && others > 0))) return Done{};
  return Error{Errc::unsupported,
               fmt::format("method.targets: expected modules of a gpt2 model, which are \"c_attn\" "
                           "(q, k and v together), \"o\", \"c_fc\" and \"down\"; found {}",
                           names_gate      ? "\"gate\", which it has not"
                           : of_three == 0 ? "none of them"
                                           : "q, k or v without the others"),
               "write targets = [\"c_attn\"]"};
}

// Of a fused matrix Adafactor keeps the columns of the whole; ours is several parameters.
Status refuse_fused_moments(const Job& job, const estimate::ModelConfig& model) {
  if (!model.fused || has_adapters(job) || job.optimizer.kind != estimate::OptimizerKind::adafactor)
    return Done{};
  return Error{Errc::unsupported,
               fmt::format("optimizer.kind: expected \"adamw\" or \"sgd\" to train a {} model in "
                           "full, whose projections are fused, found \"adafactor\"",
                           model.family),
               "write kind = \"adamw\" under [optimizer], or kind = \"lora\" under [method]"};
}

// A .gguf or .safetensors file names a model and its weights: starting from random ones instead
// would be a surprise.
Status refuse_what_has_no_weights(const Job::Model& model) {
  // A name is enough to plan; training from it would begin with random weights, unsaid.
  if (model.name && !model.config && !model.config_path)
    return Error{Errc::unsupported,
                 fmt::format("model.name: expected the model's own files to train, found the name "
                             "\"{}\" alone",
                             *model.name),
                 "write config = \"the folder with its config.json and weights\""};
  const std::string path = model.config_path.value_or("");
  if (!path.ends_with(".gguf") && !path.ends_with(".onnx") && !path.ends_with(".safetensors"))
    return Done{};
  return Error{Errc::unsupported,
               fmt::format("model.config: expected a folder with config.json, found {}", path),
               "write the folder of the model as it came from Hugging Face"};
}

}  // namespace

Result<Settings> make_settings(const run::LoadedJob& loaded) {
  const Job& job = loaded.job;
  HEADROOM_CHECK(refuse_what_cannot_be_done(job));
  HEADROOM_CHECK(refuse_what_has_no_weights(job.model));
  HEADROOM_TRY(estimate::ModelConfig model, estimate::decoder_config(loaded.model));
  HEADROOM_CHECK(estimate::read_numbers(loaded.config, model));
  HEADROOM_CHECK(check_supported(loaded.config, model));
  HEADROOM_CHECK(estimate::check_scaled_length(job, model));
  HEADROOM_CHECK(refuse_fused_targets(job, model));
  HEADROOM_CHECK(refuse_fused_moments(job, model));
  HEADROOM_CHECK(refuse_split_targets(job, model));
  HEADROOM_TRY(data::Source source, data::make_source(loaded));
  return Settings{.config = model,
                  .original_config = loaded.config,
                  .model_folder = data::find_model_folder(loaded),
                  .model = make_options(job),
                  .optimizer = make_optimizer_settings(job.optimizer),
                  .masters = job.optimizer.master == estimate::Master::fp32,
                  .offload = {.optimizer = job.optimizer.offload,
                              .activations = job.compute.activation_offloading,
                              .capacity = job.device.host_capacity},
                  .schedule = {.kind = job.optimizer.schedule,
                               .warmup_steps = job.optimizer.warmup_steps,
                               .warmup_ratio = job.optimizer.warmup_ratio},
                  .max_grad_norm = job.optimizer.max_grad_norm,
                  .batch = data::make_batch(job.batch),
                  .data = std::move(source),
                  .evaluation = data::make_evaluation(loaded),
                  .evaluate_every = job.data.evaluate_every,
                  .epochs = job.data.epochs,
                  .seed = job.data.seed,
                  .capacity = job.device.capacity};
}

Json to_json(const Settings& settings) {
  const auto& quantised = settings.model.quantised;
  const bool is_gpu = settings.model.gpu().has_value();
  Json json = {{"method", quantised             ? "qlora"
                          : settings.model.lora ? "lora"
                                                : "full"},
               {"dtype", settings.model.dtype == at::kBFloat16 ? "bf16" : "fp32"},
               {"attention", to_string(settings.model.attention)},
               {"checkpointing", to_string(settings.model.checkpointing)},
               {"loss", to_string(settings.model.loss)},
               {"micro", settings.batch.micro},
               {"accumulate", settings.batch.accumulate},
               {"sequence", settings.model.longest},
               {"schedule", to_string(settings.schedule.kind)},
               {"epochs", settings.epochs},
               {"seed", settings.seed},
               {"device", is_gpu ? "gpu" : "cpu"},
               {"capacity_from", settings.capacity ? "device.capacity"
                                 : is_gpu          ? "free on the GPU"
                                                   : "installed RAM"},
               {"allocator", "headroom"}};
  if (settings.data.packing) json["packing"] = true;
  if (quantised) json["base"] = to_string(*quantised);
  if (settings.model.part) json["stages"] = settings.model.part->stages;
  if (settings.model.lora) {
    json["rank"] = settings.model.lora->rank;
    json["alpha"] = settings.model.lora->alpha;
    json["dropout"] = settings.model.lora->dropout;
  }
  add_to_json(settings.optimizer, json);
  if (settings.masters) json["master"] = "fp32";
  if (settings.offload.any()) {
    json["optimizer_offload"] = settings.offload.optimizer;
    json["activation_offloading"] = settings.offload.activations;
    json["host_capacity_from"] = settings.offload.capacity ? "device.host_capacity" : "free RAM";
  }
  if (settings.max_grad_norm) json["max_grad_norm"] = *settings.max_grad_norm;
  return json;
}

void add_data(const Settings& settings, const data::SampleSet& samples, Json& report) {
  report["data_samples"] = samples.size();
  report["data_tokens"] = samples.count_tokens();
  if (!samples.is_packed()) return;
  report["data_rows"] = samples.rows();
  report["padding_unpacked"] = data::padding_unpacked(samples, settings.batch.micro, settings.seed);
}

FixedBytes fixed_bytes(const Settings& settings) {
  const ParameterBytes parameters = parameter_bytes(settings.config, settings.model);
  const std::uint64_t trained = settings.model.lora ? parameters.adapters : parameters.weights;
  const std::uint64_t states =
      state_bytes(settings.optimizer, settings.masters, settings.config, settings.model);
  const bool offloaded = settings.offload.optimizer;
  return {.weights = parameters.weights,
          .adapters = parameters.adapters,
          .gradients = trained,
          .optimizer = offloaded ? 0 : states,
          .offloaded = offloaded ? states : 0};
}

Status check_capacity(const Settings& settings, Bytes capacity, std::optional<Bytes> host) {
  const FixedBytes fixed = fixed_bytes(settings);
  if (host && fixed.offloaded > host->value)
    return Error{Errc::out_of_memory,
                 fmt::format("the optimizer state alone needs {} of host memory, and {} may be "
                             "taken there (device.host_capacity in whole pieces of 2 MiB)",
                             to_string(Bytes{fixed.offloaded}), to_string(*host)),
                 "set device.host_capacity above that, if the machine has it; or keep the state "
                 "on the device: optimizer.offload = false"};
  const Bytes needed{fixed.on_device()};
  if (needed <= capacity) return Done{};
  const Bytes parameters{fixed.weights + fixed.adapters};
  const std::string state =
      fixed.optimizer == 0
          ? fmt::format("and gradients ({})", to_string(Bytes{fixed.gradients}))
          : fmt::format("gradients ({}) and optimizer state ({})",
                        to_string(Bytes{fixed.gradients}), to_string(Bytes{fixed.optimizer}));
  const std::string first =
      parameters > capacity
          ? fmt::format("the model's parameters alone need {}, and the capacity is {}",
                        to_string(parameters), to_string(capacity))
          : fmt::format("parameters ({}){} {} need {}, and the capacity is {}",
                        to_string(parameters), fixed.optimizer == 0 ? "" : ",", state,
                        to_string(needed), to_string(capacity));
  const std::string smaller =
      settings.model.lora ? "" : ", or train adapters only: kind = \"lora\"";
  return Error{Errc::out_of_memory, first,
               fmt::format("set device.capacity above {} (headroom plan JOB says how far){}",
                           to_string(needed), smaller)};
}

}  // namespace headroom::trainer
