// SPDX-License-Identifier: Apache-2.0
#include "estimate/engine_support.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimate/headroom_quantised.h"

namespace headroom::estimate {
namespace {

Error cannot(std::string_view key, std::string_view found, std::string_view has, std::string next) {
  return Error{Errc::unsupported, fmt::format("engine headroom has {}, found \"{}\"", has, found),
               std::move(next)}
      .at(key);
}

Status check_headroom(const Job& job) {
  const Job::Method& method = job.method;
  const Job::Compute& compute = job.compute;
  const std::string other = ", or [engine] kind = \"transformers\"";
  if (method.kind == MethodKind::inference)
    return cannot("method.kind", to_string(method.kind), "\"full\", \"lora\" and \"qlora\"",
                  "write kind = \"lora\"" + other);
  if (method.kind == MethodKind::qlora && !is_quantised(method.base))
    return cannot("method.base", to_string(method.base), "\"nf4\", \"nf4-dq\" and \"int8\"",
                  "write base = \"nf4-dq\"" + other);
  if (method.kind != MethodKind::qlora && method.base != format_of(compute.dtype))
    return cannot("method.base", to_string(method.base), "weights in compute.dtype only",
                  fmt::format("write base = \"{}\"{}", to_string(compute.dtype),
                              is_quantised(method.base) ? ", or kind = \"qlora\"" : "") +
                      other);
  if (!method.modules_to_save.empty() ||
      !std::all_of(method.targets.begin(), method.targets.end(), is_in_layers))
    return cannot("method.targets", "embed_tokens or lm_head", "adapters in its layers",
                  "leave them out" + other);
  if (compute.liger.on)
    return cannot("compute.use_liger_kernel", "true", "kernels of its own", "leave it out" + other);
  if (compute.autocast)
    return cannot("compute.autocast", "true", "no autocast", "leave it out" + other);
  if (compute.loss != Loss::eager && compute.loss != Loss::chunked)
    return cannot("compute.loss", to_string(compute.loss), "\"eager\" and \"chunked\"",
                  "write loss = \"chunked\"" + other);
  if (compute.attention && *compute.attention != Attention::math &&
      *compute.attention != Attention::efficient)
    return cannot("compute.attention", to_string(*compute.attention), "\"math\" and \"efficient\"",
                  "write attention = \"efficient\", or leave it out");
  if (compute.residual != compute.dtype || compute.embeddings != compute.dtype)
    return cannot("compute.residual", to_string(compute.residual), "one type for all",
                  "leave residual and embeddings out" + other);
  const bool full = method.kind == MethodKind::full;
  if (job.optimizer.master != Master::none &&
      (full ? compute.dtype : method.adapter_dtype) == DType::fp32)
    return cannot("optimizer.master", "fp32", "masters of what is trained in less than fp32 alone",
                  fmt::format("leave it out, or write {} = \"bf16\"",
                              full ? "compute.dtype" : "method.adapter_dtype"));
  return Done{};
}

Status check_transformers(const Job& job) {
  const auto of_headroom = [](std::string_view key) {
    return Error{Errc::unsupported, "expected it for headroom's own trainer alone, found it",
                 "leave it out, or write [engine] kind = \"headroom\""}
        .at(key);
  };
  if (job.compute.activation_offloading) return of_headroom("compute.activation_offloading");
  if (job.device.host_capacity) return of_headroom("device.host_capacity");
  if (job.data.packing) return of_headroom("data.packing");
  if (job.compute.loss == Loss::chunked)
    return Error{Errc::unsupported,
                 "engine transformers has \"eager\", \"triton\", \"fused-liger\" and "
                 "\"linear-chunks\", found "
                 "\"chunked\"",
                 "write loss = \"fused-liger\", or [engine] kind = \"headroom\""}
        .at("compute.loss");
  // TRL's own, release by release; DPOTrainer and GRPOTrainer refuse Liger's.
  if (job.preference.trainer != TrainerKind::sft && job.compute.loss != Loss::eager)
    return Error{Errc::unsupported,
                 fmt::format("method.trainer = \"{}\" has a loss of its own, found \"{}\"",
                             to_string(job.preference.trainer), to_string(job.compute.loss)),
                 "leave compute.loss out"}
        .at("compute.loss");
  return Done{};
}

}  // namespace

Status check_engine(const Job& job) {
  switch (job.engine.kind) {
    case EngineKind::headroom:
      return check_headroom(job);
    case EngineKind::transformers:
      return check_transformers(job);
    case EngineKind::command:
      break;
  }
  return Error{Errc::unsupported, "a command of your own cannot be planned, only run",
               "plan it as what it runs: [engine] kind = \"transformers\""}
      .at("engine.kind");
}

}  // namespace headroom::estimate
