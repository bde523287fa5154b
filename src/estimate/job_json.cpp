// SPDX-License-Identifier: Apache-2.0
#include "estimate/job_json.h"

#include <string>

#include "base/document.h"
#include "estimate/job_liger.h"
#include "estimate/job_preference.h"

namespace headroom::estimate {
namespace {

Json number_or_auto(const std::optional<std::uint64_t>& number) {
  return number ? Json(*number) : Json("auto");
}

std::string size_text(Bytes bytes) {
  return std::to_string(bytes.value);
}

Json method_of(const Job::Method& method) {
  Json json = {{"kind", to_string(method.kind)}, {"base", to_string(method.base)}};
  const bool adapts = method.kind == MethodKind::lora || method.kind == MethodKind::qlora;
  if (adapts) {
    json["rank"] = method.rank;
    json["alpha"] = method.alpha;
    json["dropout"] = method.dropout;
    for (const Target target : method.targets) json["targets"].push_back(to_string(target));
    json["adapter_dtype"] = to_string(method.adapter_dtype);
    for (const Target module : method.modules_to_save)
      json["modules_to_save"].push_back(to_string(module));
    if (method.all_linear && !method.freeze_vision_tower) json["targets"] = "all-linear";
  }
  if (method.kind != MethodKind::inference && method.freeze_vision_tower != adapts)
    json["freeze_vision_tower"] = method.freeze_vision_tower;
  if (method.kind != MethodKind::inference && method.freeze_projector != adapts)
    json["freeze_multi_modal_projector"] = method.freeze_projector;
  if (method.freeze_language_model) json["freeze_language_model"] = true;
  if (method.freeze_feature_encoder) json["freeze_feature_encoder"] = true;
  if (!plain_type(method.base)) json["group_size"] = method.group_size;
  return json;
}

Json compute_of(const Job::Compute& compute) {
  Json json = {{"dtype", to_string(compute.dtype)},
               {"autocast", compute.autocast},
               {"checkpointing", to_string(compute.checkpointing)},
               {"keep_outputs", compute.keep_outputs},
               {"loss", to_string(compute.loss)},
               {"norm", compute.norm == NormKernel::fused ? "fused" : "eager"},
               {"residual", to_string(compute.residual)},
               {"embeddings", to_string(compute.embeddings)}};
  write_liger(compute.liger, json);
  if (compute.activation_offloading) json["activation_offloading"] = true;
  if (compute.padding) json["padding"] = true;
  if (compute.reentrant) json["use_reentrant"] = true;
  if (compute.attention) json["attention"] = to_string(*compute.attention);
  if (compute.own_windows) json["attention"] = "flash_attention_2";
  return json;
}

Json optimizer_of(const Job::Optimizer& optimizer) {
  Json json = {{"kind", to_string(optimizer.kind)},
               {"foreach", optimizer.foreach},
               {"offload", optimizer.offload},
               {"master", optimizer.master == Master::fp32 ? "fp32" : "none"}};
  if (optimizer.fused) json["fused"] = true;
  if (optimizer.by_trainer && optimizer.kind == OptimizerKind::adamw8bit)
    json["kind"] = "adamw_8bit";
  if (optimizer.momentum > 0) json["momentum"] = optimizer.momentum;
  return json;
}

Json batch_of(const Job::Batch& batch, MethodKind method) {
  Json json = {{"micro", number_or_auto(batch.micro)},
               {"accumulate", number_or_auto(batch.accumulate)},
               {"sequence", batch.sequence}};
  if (batch.global) json["global"] = *batch.global;
  if (batch.target) json["target"] = *batch.target;
  if (batch.images_per_sample > 0) json["images_per_sample"] = batch.images_per_sample;
  if (batch.image_height > 0) json["image_size"] = {batch.image_height, batch.image_width};
  if (method == MethodKind::inference) {
    json["prompt"] = batch.prompt;
    json["generate"] = batch.generate;
  }
  return json;
}

Json device_of(const Job::Device& device) {
  Json json = {{"allocator", device.allocator}};
  if (device.capacity) json["capacity"] = size_text(*device.capacity);
  if (device.host_capacity) json["host_capacity"] = size_text(*device.host_capacity);
  if (device.gpu) json["gpu"] = *device.gpu;
  if (device.context) json["context"] = size_text(*device.context);
  return json;
}

}  // namespace

Json to_json(const Job& job) {
  Json engine = {{"kind", to_string(job.engine.kind)}};
  if (job.engine.kind == EngineKind::transformers) {
    engine["transformers"] = job.engine.transformers;
    if (job.engine.torch != Job::Engine{}.torch) engine["torch"] = job.engine.torch;
  }
  if (job.engine.stages > 1) engine["stages"] = job.engine.stages;
  Json method = method_of(job.method);
  Json batch = batch_of(job.batch, job.method.kind);
  write_preference(job, method, batch, engine);
  return {{"method", method},
          {"compute", compute_of(job.compute)},
          {"optimizer", optimizer_of(job.optimizer)},
          {"batch", batch},
          {"engine", engine},
          {"device", device_of(job.device)}};
}

}  // namespace headroom::estimate
