// SPDX-License-Identifier: Apache-2.0
// Reads a job and the model it names: shared by `headroom plan`, `headroom run` and headroom-train.
#pragma once

#include <optional>
#include <string>

#include "base/document.h"
#include "base/result.h"
#include "estimate/job.h"
#include "estimate/models/architecture.h"
#include "run/job_flags.h"

namespace headroom::run {

// A job as it was given, read once: what decides which program it is for and what loads it see the
// same text.
struct JobFile {
  std::string path;       // "-": standard input; empty: there is none, flags are all of the job.
  std::string name;       // What messages call it.
  bool is_model = false;  // A model's folder or weight file stands in the place of a job.
  Document document;

  // engine.kind as it is written, or empty.
  std::string engine() const;
  // model.name or model.config where it is a text; a config's path as seen from the current folder.
  std::optional<std::string> model(const char* key) const;
  // What its relative paths start from: "." of standard input, of a model and of none.
  std::string folder() const;
};

// Fails where it cannot be read, and on a model's config.json.
Result<JobFile> read_job_file(const std::string& path);

struct LoadedJob {
  estimate::Job job;
  estimate::Architecture model;
  Json config;         // What `model` was read from, with every key; null of an ONNX file.
  std::string folder;  // Of the job file: what the job's relative paths start from. "." for stdin.
  // Where settings of the trainer's job were "auto": what was chosen and what was not
  // (estimate/automatic.h). `job` has the choice; its checkpointing and its batch may still be
  // open, and the plan chooses them likewise.
  Json automatic = {};
  std::string chosen = {};  // The same in a line.
  // output.tensorboard: whether headroom's own trainer writes events for TensorBoard. It changes
  // nothing that is planned.
  bool tensorboard = false;
};

// `path` is a file, or "-" for standard input; empty where `flags` are all of the job. model.config
// may be a folder, a config.json or a weight file (model_files.h), relative to the job's folder, or
// to the current one where a flag names it. A model's folder or weight file in place of a job is
// planned as inference, and the model's notes say so. Settings of a job for headroom's own trainer
// that are "auto" are chosen for its capacity. Fails on a job for a program that is only
// planned (llama.cpp, ollama, vLLM, diffusers).
Result<LoadedJob> load_job(const std::string& path, const JobFlags& flags = {});
Result<LoadedJob> load_job(JobFile file, const JobFlags& flags = {});

}  // namespace headroom::run
