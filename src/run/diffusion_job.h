// SPDX-License-Identifier: Apache-2.0
// A pipeline that diffusers runs: a job file with [engine] kind = "diffusers", or the name of a
// pipeline alone.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "estimate/diffusion/settings.h"
#include "estimate/diffusion/shapes.h"
#include "estimate/job.h"
#include "run/job_file.h"
#include "run/job_flags.h"

namespace headroom::run {

struct DiffusionJob {
  estimate::diffusion::PipelineShape shape;
  estimate::diffusion::Settings settings;
  estimate::Job job;  // There for the device.
  std::vector<std::string> notes;
};

// Whether the job or the flags name a pipeline of data/pipelines.toml, or diffusers as their
// engine.
bool is_diffusion_job(const JobFile& file, const JobFlags& flags);

// model.config may be the folder of a pipeline, with its model_index.json. Fails with what is wrong
// in the job, and where a component cannot be read.
Result<DiffusionJob> load_diffusion_job(const JobFile& file, const JobFlags& flags);

}  // namespace headroom::run
