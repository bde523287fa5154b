// SPDX-License-Identifier: Apache-2.0
// The plan of a diffusers pipeline: what each stage of a call takes on a device, what the
// convolutions' workspaces may add, and which of diffusers' calls would make it fit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "estimate/device.h"
#include "estimate/diffusion/pipeline.h"
#include "estimate/diffusion/stages.h"
#include "estimate/plan.h"

namespace headroom::estimate::diffusion {

// Of one setting, without the context.
struct Need {
  std::array<std::uint64_t, 4> stages{};  // By Stage: the most that is live.
  std::uint64_t allocated_bytes = 0;      // The highest of them.
  std::uint64_t reserved_bytes = 0;       // What the allocator takes.
  Stage at = Stage::load;
};

// Calls and arguments with which it fits at worst.
struct Fitting {
  std::vector<std::string> calls;  // "pipe.enable_model_cpu_offload()"
  Settings settings;
  Need least, most;
};

struct DiffusionPlan {
  PipelineShape shape;
  Settings settings;
  std::vector<PartSize> parts;
  // Where convolutions take no workspace, and where each takes its largest. They are the same on
  // devices of NVIDIA, where the least is planned.
  Need least, most;
  std::uint64_t context_bytes = 0;
  std::optional<std::uint64_t> capacity_bytes;
  std::optional<bool> fits;            // At least.
  Verdict verdict = Verdict::unknown;  // borderline: at least, but not at most.
  std::vector<TensorRecord> largest;   // At the peak of the least, at most ten.
  std::optional<TensorRecord> first_failure;
  std::vector<Fitting> fitting;  // The least costly first.
  std::vector<std::string> notes;

  std::uint64_t device_low() const { return least.reserved_bytes + context_bytes; }
  std::uint64_t device_high() const { return most.reserved_bytes + context_bytes; }
};

// Fails as check_settings() does, and on an unknown allocator.
Result<DiffusionPlan> make_diffusion_plan(PipelineShape shape, const Settings& settings,
                                          const Device& device, const std::string& allocator);

}  // namespace headroom::estimate::diffusion
