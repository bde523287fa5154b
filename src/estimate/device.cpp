// SPDX-License-Identifier: Apache-2.0
#include "estimate/device.h"

#include "knowledge/cards.h"
#include "knowledge/gpu_tables.h"

namespace headroom::estimate {
namespace {

// What a HIP process takes before its first tensor: 0.33 to 0.41 GiB in published OOM messages
// (process total less reserved). The middle of that.
constexpr Bytes hip_context = 378_MiB;
constexpr Bytes rocblas_workspace = 32_MiB;

}  // namespace

Result<Device> find_device(const Job& job) {
  Device device;
  device.capacity = job.device.capacity;
  if (job.engine.kind == EngineKind::headroom) {
    device.attention = Attention::efficient;
    device.context = job.device.context.value_or(0_B);
    return device;
  }
  device.context = hip_context;
  device.blas_workspace = rocblas_workspace;
  if (job.device.gpu && *job.device.gpu != "auto") {
    HEADROOM_TRY(const knowledge::Card card, knowledge::find_card(*job.device.gpu));
    if (!device.capacity) device.capacity = card.vram;
    device.blas_workspace = card.blas_workspace;
    HEADROOM_TRY(const knowledge::GpuTables tables, knowledge::load_gpu_tables());
    const knowledge::Target* target = tables.target(card.gfx);
    const bool fused = target != nullptr && target->attention != knowledge::Attention::none;
    device.attention = fused ? Attention::flash : Attention::math;
  }
  if (job.device.context) device.context = *job.device.context;
  return device;
}

}  // namespace headroom::estimate
