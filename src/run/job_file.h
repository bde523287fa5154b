// SPDX-License-Identifier: Apache-2.0
// Reads a job and the model it names: shared by `headroom plan`, `headroom run` and headroom-train.
#pragma once

#include <string>

#include "base/document.h"
#include "base/result.h"
#include "estimate/job.h"
#include "estimate/models/architecture.h"
#include "run/job_flags.h"

namespace headroom::run {

struct LoadedJob {
  estimate::Job job;
  estimate::Architecture model;
  Json config;         // What `model` was read from, with every key; null of an ONNX file.
  std::string folder;  // Of the job file: what the job's relative paths start from. "." for stdin.
};

// `path` is a file, or "-" for standard input; empty where `flags` are all of the job. model.config
// may be a folder, a config.json or a weight file (model_files.h), relative to the job's folder, or
// to the current one where a flag names it. A model's folder or weight file in place of a job is
// planned as inference, and the model's notes say so.
Result<LoadedJob> load_job(const std::string& path, const JobFlags& flags = {});

}  // namespace headroom::run
