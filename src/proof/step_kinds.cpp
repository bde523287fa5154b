// SPDX-License-Identifier: Apache-2.0
#include "proof/step_kinds.h"

#include <algorithm>
#include <array>

namespace headroom::proof {
namespace {

using std::chrono::seconds;

// The first product on a GPU may compile or load code for a minute; MIOpen searches for its kernels
// at the first convolution of a shape.
constexpr std::array kinds = {
    StepKind{"import", "the framework is loaded", seconds(300)},
    StepKind{"memory", "memory is taken, written and read back", seconds(300)},
    StepKind{"released", "memory comes back when it is freed", seconds(120)},
    StepKind{"matmul-fp32", "a matrix product in 32 bits", seconds(120)},
    StepKind{"matmul-fp16", "a matrix product in 16 bits", seconds(120)},
    StepKind{"matmul-bf16", "a matrix product in bfloat16", seconds(120)},
    StepKind{"layer-norm", "layer norm", seconds(120)},
    StepKind{"softmax", "softmax", seconds(120)},
    StepKind{"attention", "fused attention", seconds(120)},
    StepKind{"convolution", "a convolution", seconds(300)},
    StepKind{"network", "a small network, forwards and backwards", seconds(300)},
    StepKind{"training", "a training", seconds(600)},
    StepKind{"rate", "products per second", seconds(120)},
    StepKind{"bandwidth", "bytes per second", seconds(120)},
};

// The load tells every few seconds that it goes on.
constexpr std::array soaked = {
    StepKind{"soak", "a load of minutes that varies, each answer compared", seconds(300)},
    StepKind{"soak-memory", "memory comes back after the load", seconds(120)},
    StepKind{"soak-speed", "the load is as fast at its end as at its beginning", seconds(60)},
    StepKind{"soak-heat", "temperatures below their limits", seconds(60)},
    StepKind{"soak-ras", "errors that the GPU's hardware counts", seconds(60)},
    StepKind{"soak-link", "errors of the PCIe link", seconds(60)},
    StepKind{"soak-reset", "resets of the GPU", seconds(60)},
};

// Each rank loads the framework, and RCCL may take a minute to find its ways.
constexpr std::array joined = {
    StepKind{peer_step, "a copy from one GPU to another", seconds(180)},
    StepKind{nccl_step, "a sum by NCCL or RCCL", seconds(240)},
    StepKind{no_peers_step, "a sum by NCCL or RCCL without copies between GPUs", seconds(240)},
    StepKind{gloo_step, "a sum by Gloo", seconds(180)},
    StepKind{ddp_step, "DistributedDataParallel", seconds(240)},
    StepKind{fsdp_step, "FSDP", seconds(240)},
    StepKind{data_parallel_step, "DataParallel", seconds(180)},
};

constexpr std::array tried = {
    StepKind{"import", "the framework is loaded", seconds(300)},
    StepKind{"devices", "it has code for the device", seconds(120)},
    StepKind{"correctness", "what it computes is right", seconds(300)},
    StepKind{"training", "a training", seconds(600)},
};

const StepKind* find(std::span<const StepKind> among, std::string_view name) {
  const auto at = std::find_if(among.begin(), among.end(),
                               [name](const StepKind& kind) { return kind.name == name; });
  return at == among.end() ? nullptr : &*at;
}

}  // namespace

std::span<const StepKind> step_kinds() {
  return kinds;
}

std::span<const StepKind> soak_kinds() {
  return soaked;
}

std::span<const StepKind> together_kinds() {
  return joined;
}

std::span<const StepKind> trial_kinds() {
  return tried;
}

const StepKind* find_step(std::string_view name) {
  for (const auto& among : {step_kinds(), soak_kinds(), together_kinds(), trial_kinds()}) {
    if (const StepKind* kind = find(among, name)) return kind;
  }
  return nullptr;
}

}  // namespace headroom::proof
