// SPDX-License-Identifier: Apache-2.0
#include "estimate/change.h"

#include <algorithm>
#include <tuple>

namespace headroom::estimate {
namespace {

// Every setting but the split of the batch, to be gone through in one way.
auto settings(const Change& c) {
  return std::tie(c.checkpointing, c.attention, c.loss, c.norm, c.foreach, c.offload, c.optimizer,
                  c.dtype, c.rank, c.sequence, c.method, c.base, c.residual, c.embeddings,
                  c.autocast);
}

auto settings(Change& c) {
  return std::tie(c.checkpointing, c.attention, c.loss, c.norm, c.foreach, c.offload, c.optimizer,
                  c.dtype, c.rank, c.sequence, c.method, c.base, c.residual, c.embeddings,
                  c.autocast);
}

// Calls `f` with the same setting of both.
template <class First, class Second, class Function>
void for_each_pair(First&& first, Second&& second, const Function& f) {
  std::apply([&](auto&... a) { std::apply([&](auto&... b) { (f(a, b), ...); }, settings(second)); },
             settings(first));
}

template <class T>
void take(T& setting, const std::optional<T>& changed) {
  if (changed) setting = *changed;
}

void change_dtype(Job& job, DType dtype) {
  const DType before = job.compute.dtype;
  if (job.method.base == format_of(before)) job.method.base = format_of(dtype);
  if (job.compute.residual == before) job.compute.residual = dtype;
  if (job.compute.embeddings == before) job.compute.embeddings = dtype;
  job.compute.dtype = dtype;
  job.compute.autocast = false;
}

std::vector<Checkpointing> checkpointing_of(const Job& job) {
  std::vector<Checkpointing> kinds = {job.compute.checkpointing};
  const auto add = [&kinds](Checkpointing kind) {
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  };
  if (job.method.kind == MethodKind::inference) return kinds;
  add(Checkpointing::none);
  // Of transformers it is attention that is computed again, which saves what only kernels that keep
  // the scores keep; of headroom's own what needs no product.
  const bool keeps_scores =
      job.compute.attention == Attention::math || job.compute.attention == Attention::eager;
  if (job.engine.kind == EngineKind::headroom || keeps_scores) add(Checkpointing::selective);
  add(Checkpointing::layer);
  return kinds;
}

std::vector<Attention> attention_of(const Job& job, const Device& device) {
  const Attention given = *job.compute.attention;
  const bool fused = given == Attention::flash || given == Attention::efficient;
  Attention best = device.attention;
  if (best == Attention::flash && job.compute.dtype == DType::fp32) best = Attention::efficient;
  if (fused || best == Attention::math) return {given};
  return {given, best};
}

std::vector<Loss> losses_of(const Job& job, const Architecture& model) {
  const Loss given = job.compute.loss;
  const bool trains = job.method.kind != MethodKind::inference;
  if (!trains || model.head.kind != Head::Kind::language || given != Loss::eager) return {given};
  if (job.compute.liger.on) return {given};  // It has its own.
  if (job.engine.kind == EngineKind::headroom) return {given, Loss::chunked};
  // TRL's trainers of preferences have a loss of their own, and refuse Liger's.
  if (job.preference.trainer != TrainerKind::sft) return {given};
  return {given, Loss::triton, Loss::fused_liger};
}

std::vector<NormKernel> norms_of(const Job& job) {
  const bool may = job.engine.kind == EngineKind::transformers &&
                   job.method.kind != MethodKind::inference &&
                   job.compute.norm == NormKernel::eager && !job.compute.liger.on;
  return may ? std::vector{NormKernel::eager, NormKernel::fused} : std::vector{job.compute.norm};
}

}  // namespace

Job apply(Job job, const Change& change) {
  if (change.micro) job.batch.micro = change.micro;
  if (change.accumulate) job.batch.accumulate = change.accumulate;
  take(job.compute.checkpointing, change.checkpointing);
  if (change.attention) {
    job.compute.attention = change.attention;
    job.compute.by_pytorch = false;
  }
  take(job.compute.loss, change.loss);
  take(job.compute.norm, change.norm);
  take(job.optimizer.foreach, change.foreach);
  take(job.optimizer.offload, change.offload);
  take(job.optimizer.kind, change.optimizer);
  if (change.optimizer) job.optimizer.by_trainer = change.by_trainer;
  if (change.dtype) change_dtype(job, *change.dtype);
  take(job.method.rank, change.rank);
  take(job.batch.sequence, change.sequence);
  take(job.method.kind, change.method);
  take(job.method.base, change.base);
  take(job.compute.residual, change.residual);
  take(job.compute.embeddings, change.embeddings);
  take(job.compute.autocast, change.autocast);
  return job;
}

Change written_out(Change change, const Job& given, const Job& job, const Architecture& model) {
  const Job target = apply(job, change);
  const auto& batch = given.batch;
  const bool batch_follows = batch.micro || (batch.global && batch.accumulate);
  if (!batch_follows) change.micro = target.batch.micro;
  if (!batch_follows) change.accumulate = target.batch.accumulate;
  if (given.compute.checkpointing == Checkpointing::automatic)
    change.checkpointing = target.compute.checkpointing;
  if (change.dtype) {
    if (given.compute.given.base && target.method.base != job.method.base)
      change.base = target.method.base;
    if (given.compute.given.residual && target.compute.residual != job.compute.residual)
      change.residual = target.compute.residual;
    if (given.compute.given.embeddings && target.compute.embeddings != job.compute.embeddings)
      change.embeddings = target.compute.embeddings;
    if (target.compute.autocast != job.compute.autocast) change.autocast = target.compute.autocast;
  }
  // Adapters would be put on the checkpoint's own quantised weights.
  if (change.method && model.stored && !given.compute.given.base) change.base = target.method.base;
  return change;
}

Change merge(Change first, const Change& second) {
  if (second.micro) first.micro = second.micro;
  if (second.accumulate) first.accumulate = second.accumulate;
  if (second.optimizer) first.by_trainer = second.by_trainer;
  for_each_pair(first, second, [](auto& a, const auto& b) {
    if (b) a = b;
  });
  return first;
}

bool changes_result(const Change& change) {
  return change.optimizer || change.dtype || change.rank || change.sequence || change.method ||
         change.base;
}

int count(const Change& change) {
  int number = change.micro || change.accumulate ? 1 : 0;
  std::apply([&](const auto&... setting) { number += (int{setting.has_value()} + ...); },
             settings(change));
  return number;
}

bool within(const Change& part, const Change& whole) {
  bool is = !part.micro || whole.micro;
  for_each_pair(part, whole, [&is](const auto& a, const auto& b) { is = is && (!a || a == b); });
  return is;
}

bool alike(const Change& a, const Change& b) {
  const auto character = [](Change change) {
    const bool kernels = change.loss.has_value() || change.norm.has_value();
    change.micro.reset();
    change.accumulate.reset();
    change.foreach.reset();
    change.norm.reset();
    change.loss.reset();
    if (kernels) change.loss = Loss::eager;
    return change;
  };
  return character(a) == character(b);
}

std::vector<std::uint64_t> micro_batches(std::uint64_t global, std::uint64_t most) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t micro = std::min(global, most); micro > 0; --micro) {
    if (global % micro == 0) sizes.push_back(micro);
  }
  return sizes;
}

std::vector<Change> kernel_changes(const Job& job, const Architecture& model,
                                   const Device& device) {
  std::vector<Attention> attentions = attention_of(job, device);
  if (job.engine.kind == EngineKind::headroom && job.compute.attention == Attention::math)
    attentions = {Attention::math, Attention::efficient};
  std::vector<Change> changes;
  for (const Attention attention : attentions) {
    for (const Loss loss : losses_of(job, model)) {
      for (const NormKernel norm : norms_of(job)) {
        for (const Checkpointing kept : checkpointing_of(job)) {
          Change change;
          if (attention != *job.compute.attention) change.attention = attention;
          if (loss != job.compute.loss) change.loss = loss;
          if (norm != job.compute.norm) change.norm = norm;
          if (kept != job.compute.checkpointing) change.checkpointing = kept;
          changes.push_back(change);
        }
      }
    }
  }
  return changes;
}

std::vector<Change> optimizer_changes(const Job& job) {
  std::vector<Change> changes = {{}};
  const bool ours = job.engine.kind == EngineKind::headroom;
  if (job.method.kind == MethodKind::inference || job.optimizer.offload) return changes;
  if (!ours && job.optimizer.kind == OptimizerKind::adamw && job.optimizer.foreach) {
    changes.emplace_back();
    changes.back().foreach = false;
  }
  changes.emplace_back();
  changes.back().offload = true;
  return changes;
}

std::vector<Change> result_changes(const Job& job, const Device& device) {
  std::vector<Change> changes;
  const auto add = [&changes]() -> Change& { return changes.emplace_back(); };
  const bool ours = job.engine.kind == EngineKind::headroom;
  const bool trains = job.method.kind != MethodKind::inference;
  if (trains && job.optimizer.kind == OptimizerKind::adamw && !job.optimizer.offload) {
    for (const OptimizerKind kind : {OptimizerKind::adamw8bit, OptimizerKind::adafactor}) {
      if (ours && kind == OptimizerKind::adafactor) continue;
      Change& change = add();
      change.optimizer = kind;
      change.by_trainer = job.optimizer.by_trainer;
    }
  }
  if (job.compute.dtype == DType::fp32) add().dtype = device.half;
  const bool adapters = job.method.kind == MethodKind::lora || job.method.kind == MethodKind::qlora;
  if (adapters && job.method.rank >= 8) add().rank = job.method.rank / 2;
  if (trains && job.batch.sequence >= 256) {
    add().sequence = job.batch.sequence / 2;
    add().sequence = job.batch.sequence / 4;
  }
  if (job.method.kind == MethodKind::full) add().method = MethodKind::lora;
  const bool plain = plain_type(job.method.base).has_value();
  if (plain) {
    Change quantised;
    if (trains) quantised.method = MethodKind::qlora;
    quantised.base = WeightFormat::nf4;
    changes.push_back(quantised);
  }
  return changes;
}

}  // namespace headroom::estimate
