// SPDX-License-Identifier: Apache-2.0
// What a job's model.config leads to beside a config.json: weight files that describe their model
// themselves, and those that lie beside the config.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "estimate/files/onnx_model.h"
#include "estimate/files/weight_file.h"
#include "estimate/job.h"
#include "estimate/models/architecture.h"

namespace headroom::run {

struct ModelFiles {
  std::string config_file;     // The config.json to read; empty where `config` or `graph` is.
  std::optional<Json> config;  // What a GGUF file says in its place.
  std::string place;           // Where `config` is from, for messages.
  std::shared_ptr<const estimate::OnnxModel> graph;  // Of an ONNX file: there is no config.
  std::shared_ptr<const estimate::WeightFile> weights;
  std::vector<std::string> notes;
};

// `path` is a Hugging Face folder, a folder with one .gguf or .onnx file, a config.json, or a
// weight file. Weights that lie beside a config.json and cannot be read are a note; a weight file
// that was named is an error.
Result<ModelFiles> read_model_files(const std::string& path);

// An ONNX model has no layers that we know of: its graph stands for them. Fails as
// infer_onnx_shapes does.
Result<estimate::Architecture> architecture_of(const ModelFiles& files, const estimate::Job& job);

// Whether a path that was given where a job was expected is a model to be planned as it is.
bool is_model(const std::string& path);

// The job for it: inference with batch 1, a prompt of 1024 tokens and 256 more.
Document default_job(const std::string& model);
// The same in words.
std::string default_job_note(const estimate::Job& job, bool is_graph);

}  // namespace headroom::run
