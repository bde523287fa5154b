// SPDX-License-Identifier: Apache-2.0
#include "cli/trial_plan.h"

#include <utility>

#include "cli/present_gpu.h"
#include "estimate/device.h"
#include "estimate/plan.h"
#include "run/job_file.h"

namespace headroom::cli {
namespace {

// What a job without a device is planned for where the one that it names is not here.
estimate::Job without_device(estimate::Job job) {
  job.device.gpu.reset();
  job.device.capacity.reset();
  return job;
}

Result<estimate::Device> find_trial_device(const estimate::Job& job, const Context& context) {
  auto device = find_planned_device(job, "/", context);
  if (device) return device;
  return estimate::find_device(without_device(job));
}

// A batch that is "auto" is what fits; an automatic checkpointing, too.
Result<estimate::Job> settle(const run::LoadedJob& loaded, const Context& context) {
  const bool is_settled = loaded.job.batch.micro &&
                          loaded.job.compute.checkpointing != estimate::Checkpointing::automatic;
  if (is_settled) return loaded.job;
  HEADROOM_TRY(const estimate::Device device, find_trial_device(loaded.job, context));
  HEADROOM_TRY(auto plan, estimate::make_plan(loaded.job, loaded.model, device));
  return std::move(plan.job);
}

}  // namespace

Result<TrialPlan> plan_trial(const std::string& path, const Context& context) {
  HEADROOM_TRY(const run::LoadedJob loaded, run::load_job(path));
  HEADROOM_TRY(const estimate::Job job, settle(loaded, context));
  HEADROOM_TRY(proof::TrialJob trial, proof::make_trial_job(job, loaded.model));
  TrialPlan made{std::move(trial), {}, {}};
  made.not_planned = made.job.not_planned;
  if (!made.not_planned.empty()) return made;
  const auto device = find_trial_device(made.job.job, context);
  if (!device) {
    made.not_planned = device.error().message;
    return made;
  }
  const auto plan = estimate::make_plan(made.job.job, made.job.model, *device);
  if (plan) {
    made.allocated_bytes = plan->allocated_bytes;
  } else {
    made.not_planned = plan.error().message;
  }
  return made;
}

}  // namespace headroom::cli
