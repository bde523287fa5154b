// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_diffusion.h"

#include "cli/engine_answer.h"
#include "cli/present_gpu.h"
#include "estimate/diffusion/diffusion_plan.h"

namespace headroom::cli {

int plan_diffusion(const run::DiffusionJob& job, const std::string& root, bool as_json,
                   const Context& context) {
  const auto device = find_planned_device(job.job, root, context);
  if (!device) return print_error(context, device.error(), exit_usage);
  auto plan = estimate::diffusion::make_diffusion_plan(job.shape, job.settings, *device,
                                                       job.job.device.allocator);
  if (!plan) return print_error(context, plan.error(), exit_usage);
  plan->notes.insert(plan->notes.begin(), job.notes.begin(), job.notes.end());
  return print_engine_plan(*plan, as_json, context);
}

}  // namespace headroom::cli
