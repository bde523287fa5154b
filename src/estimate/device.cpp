// SPDX-License-Identifier: Apache-2.0
#include "estimate/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "knowledge/gpu_tables.h"

namespace headroom::estimate {
namespace {

using knowledge::Vendor;

Rates rates_of(const knowledge::Card& card) {
  return {card.tflops16 * 1e12, card.tflops32 * 1e12, card.gb_s * 1e9};
}

Attention kernel_of(knowledge::FusedAttention fused) {
  switch (fused) {
    case knowledge::FusedAttention::none:
      return Attention::math;
    case knowledge::FusedAttention::efficient:
      return Attention::efficient;
    case knowledge::FusedAttention::flash:
      return Attention::flash;
  }
  return Attention::math;
}

// Vega, RDNA 1 and 2, Volta and Turing have no products in bf16.
DType half_of(std::string_view target) {
  for (const std::string_view none : {"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c",
                                      "gfx101", "gfx103", "sm_70", "sm_75"}) {
    if (target.starts_with(none)) return DType::fp16;
  }
  return DType::bf16;
}

void take_card(Device& device, const knowledge::Card& card) {
  if (!device.capacity) device.capacity = card.vram;
  device.context = card.context;
  device.blas_workspace = card.blas_workspace;
  device.resident_threads = card.resident_threads;
  device.vendor = card.vendor;
  device.attention = kernel_of(card.attention);
  device.half = half_of(card.target);
  device.rates = rates_of(card);
}

// Says which card was taken where others bear its name and one more word: another amount of memory.
Status tell_others_of_the_name(Device& device, const knowledge::Card& card) {
  HEADROOM_TRY(const std::vector<knowledge::Card> cards, knowledge::load_cards());
  for (const knowledge::Card& other : cards) {
    if (!other.name.starts_with(card.name + " ") || other.vram == card.vram) continue;
    device.notes.push_back(fmt::format("{} means the one of {}. For that of {}: --gpu \"{}\".",
                                       card.name, to_string(card.vram), to_string(other.vram),
                                       other.name));
  }
  return Done{};
}

Status take_vendor(Device& device, Vendor vendor) {
  HEADROOM_TRY(const knowledge::VendorFacts facts, knowledge::find_vendor(vendor));
  device.context = facts.context;
  device.blas_workspace = facts.blas_workspace;
  device.vendor = vendor;
  return Done{};
}

std::string context_of(Vendor vendor) {
  return vendor == Vendor::amd ? "HIP's context and rocBLAS's workspaces"
                               : "CUDA's context and cuBLAS's workspaces";
}

// What a capacity alone tells. Which kernels the card has is left open, as the job may be meant for
// another one of that size.
Status take_capacity(Device& device) {
  HEADROOM_TRY(const auto telling, knowledge::find_by_capacity(*device.capacity));
  if (!telling) return take_vendor(device, Vendor::amd);
  HEADROOM_CHECK(take_vendor(device, telling->vendor));
  if (telling->card) {
    device.blas_workspace = telling->card->blas_workspace;
    device.rates = rates_of(*telling->card);
  }
  const std::string whose =
      telling->card ? fmt::format("an {} {} shows", to_string(telling->vendor), telling->card->name)
                    : fmt::format("{} cards show", to_string(telling->vendor));
  device.notes.push_back(fmt::format("{} is what {}, so {} are assumed.",
                                     to_string(*device.capacity), whose,
                                     context_of(telling->vendor)));
  return Done{};
}

Status take_present(Device& device, const PresentGpu& gpu) {
  if (const auto card = knowledge::find_card(gpu.name)) {
    take_card(device, *card);
  } else {
    HEADROOM_CHECK(take_vendor(device, Vendor::amd));
    HEADROOM_TRY(const knowledge::GpuTables tables, knowledge::load_gpu_tables());
    const knowledge::Target* target = tables.target(gpu.target);
    const bool fused = target != nullptr && target->attention != knowledge::Attention::none;
    device.attention = fused ? Attention::flash : Attention::math;
    device.half = half_of(gpu.target);
  }
  if (was_never_supported(gpu)) {
    device.notes.push_back(
        fmt::format("ROCm never supported {}, so this job will not run on this GPU, however much "
                    "memory it has: headroom check says what to use instead.",
                    gpu.name));
  }
  const Bytes left = saturating_sub(gpu.limit, gpu.held);
  const std::string held =
      gpu.held.value == 0 ? "" : fmt::format(", of which others hold {}", to_string(gpu.held));
  device.notes.push_back(fmt::format("This machine's {} ({}): rung {} binds at {}{}.", gpu.name,
                                     gpu.target, gpu.rung, to_string(gpu.limit), held));
  device.capacity = left;
  device.held = std::min(gpu.held, gpu.limit);
  return Done{};
}

// Where the newest PyTorch has no code for the target, the one that has.
Status name_older_stack(Device& device, const std::string& target) {
  HEADROOM_TRY(const knowledge::GpuTables tables, knowledge::load_gpu_tables());
  if (const knowledge::Stack* stack = tables.stack(target)) {
    device.notes.push_back(fmt::format(
        "Today's PyTorch has no code for {}; {} has (headroom fix stack).", target, stack->torch));
  }
  return Done{};
}

// vLLM beside the trainer (GRPOConfig, vllm_mode = "colocate") takes a share of the whole card.
void leave_to_vllm(Device& device, const Job& job) {
  if (!job.preference.vllm_share || !device.capacity) return;
  const double share = *job.preference.vllm_share * static_cast<double>(device.capacity->value);
  device.context = Bytes{device.context.value + static_cast<std::uint64_t>(share)};
}

}  // namespace

Result<Device> device_of(const Job& job, const knowledge::Card& card) {
  Device device;
  if (job.engine.kind == EngineKind::headroom) {
    device.attention = Attention::efficient;
    device.capacity = card.vram;
    device.context = job.device.context.value_or(0_B);
    device.rates = rates_of(card);
    return device;
  }
  take_card(device, card);
  if (job.device.context) device.context = *job.device.context;
  leave_to_vllm(device, job);
  return device;
}

bool was_never_supported(const PresentGpu& gpu) {
  const auto tables = knowledge::load_gpu_tables();
  const knowledge::Target* target = tables ? tables->target(gpu.target) : nullptr;
  return target != nullptr && knowledge::support_of(*target) == knowledge::Support::unsupported;
}

Result<Device> find_device(const Job& job, const std::optional<PresentGpu>& present) {
  Device device;
  device.capacity = job.device.capacity;
  if (job.engine.kind == EngineKind::headroom) {
    device.attention = Attention::efficient;
    device.context = job.device.context.value_or(0_B);
    return device;
  }
  const bool automatic = job.device.gpu == "auto";
  if (automatic && present) {
    HEADROOM_CHECK(take_present(device, *present));
    if (job.device.capacity) device.capacity = job.device.capacity;
    HEADROOM_CHECK(name_older_stack(device, present->target));
  } else if (job.device.gpu && !automatic) {
    HEADROOM_TRY(const knowledge::Card card, knowledge::find_card(*job.device.gpu));
    take_card(device, card);
    HEADROOM_CHECK(name_older_stack(device, card.target));
    if (!job.device.capacity) HEADROOM_CHECK(tell_others_of_the_name(device, card));
  } else if (device.capacity) {
    HEADROOM_CHECK(take_capacity(device));
  } else {
    HEADROOM_CHECK(take_vendor(device, Vendor::amd));
  }
  if (job.device.context) device.context = *job.device.context;
  leave_to_vllm(device, job);
  if (job.compute.dtype == DType::bf16 && device.half == DType::fp16) {
    device.notes.emplace_back(
        "This GPU has no arithmetic in bf16, so the job computes by way of fp32, and slowly. In "
        "fp16 it takes the same memory: --dtype fp16.");
  }
  return device;
}

Attention attention_for(const Job& job, const Device& device) {
  const Attention kernel = job.compute.attention.value_or(device.attention);
  const bool wide = job.compute.dtype == DType::fp32;
  return kernel == Attention::flash && wide ? Attention::efficient : kernel;
}

bool has_kernel(const Device& device, Attention attention) {
  if (attention == Attention::flash) return device.attention == Attention::flash;
  if (attention == Attention::efficient || attention == Attention::sdpa_mask)
    return device.attention == Attention::flash || device.attention == Attention::efficient;
  return true;
}

}  // namespace headroom::estimate
