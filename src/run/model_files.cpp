// SPDX-License-Identifier: Apache-2.0
#include "run/model_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "estimate/files/onnx_shapes.h"
#include "estimate/onnx_engine.h"
#include "machine/user_files.h"
#include "run/weight_files.h"

namespace headroom::run {
namespace {

using estimate::WeightFileFormat;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::shared_ptr<const estimate::WeightFile> share(estimate::WeightFile weights) {
  return std::make_shared<const estimate::WeightFile>(std::move(weights));
}

Result<ModelFiles> read_gguf_files(const std::string& path) {
  HEADROOM_TRY(GgufModel model, read_gguf(path));
  ModelFiles files;
  files.config = std::move(model.config);
  files.place = path;
  files.notes.push_back("weights as in the file: " + to_text(model.weights));
  files.weights = share(std::move(model.weights));
  return files;
}

Result<ModelFiles> read_onnx_files(const std::string& path) {
  ModelFiles files;
  HEADROOM_TRY(files.graph, read_onnx(path));
  files.weights = share(estimate::weights_of(*files.graph));
  files.place = path;
  files.notes.push_back("weights as in the file: " + to_text(*files.weights));
  return files;
}

Result<ModelFiles> read_safetensors_files(const std::string& path) {
  ModelFiles files;
  HEADROOM_TRY(estimate::WeightFile weights, read_safetensors(path));
  files.weights = share(std::move(weights));
  files.config_file = files.place = folder_of(path) + "/config.json";
  files.notes.push_back("weights by their file: " + to_text(*files.weights));
  return files;
}

Result<ModelFiles> read_weight_file(const std::string& path, WeightFileFormat format) {
  switch (format) {
    case WeightFileFormat::gguf:
      return read_gguf_files(path);
    case WeightFileFormat::onnx:
      return read_onnx_files(path);
    case WeightFileFormat::safetensors:
      return read_safetensors_files(path);
  }
  return read_gguf_files(path);
}

// The plan stands on the config: weights that cannot be read make it less exact, not impossible.
Result<ModelFiles> read_folder(const std::string& folder) {
  ModelFiles files;
  files.config_file = files.place = folder + "/config.json";
  if (!machine::kind_of(files.config_file)) {
    const auto names = list_weight_files(folder);
    if (!names || names->empty()) return files;  // Reading config.json says what is wrong.
    if (names->size() == 1)
      return read_weight_file(folder + "/" + names->front(), *weight_format_of(names->front()));
    return Error{Errc::invalid,
                 fmt::format("{}: expected config.json or one model's file, found {}", folder,
                             join(*names, ", ")),
                 "write the path of one of them"};
  }
  auto weights = read_folder_weights(folder);
  if (!weights) {
    files.notes.push_back("weights by config.json alone, as their files cannot be read: " +
                          weights.error().message);
  } else if (*weights) {
    files.weights = share(**std::move(weights));
    files.notes.push_back("weights by their files: " + to_text(*files.weights));
  }
  return files;
}

}  // namespace

Result<ModelFiles> read_model_files(const std::string& path) {
  if (const auto format = weight_format_of(path)) return read_weight_file(path, *format);
  if (!path.ends_with(".json")) return read_folder(path);
  ModelFiles files;
  files.config_file = files.place = path;
  return files;
}

Result<estimate::Architecture> architecture_of(const ModelFiles& files, const estimate::Job& job) {
  HEADROOM_TRY(const estimate::OnnxShapes shapes,
               estimate::infer_onnx_shapes(*files.graph, estimate::binding_of(job)));
  estimate::Architecture model;
  model.family = "onnx";
  model.stacks.emplace_back();
  model.head.kind = estimate::Head::Kind::none;
  model.graph = files.graph;
  if (!shapes.assumed.empty())
    model.notes.push_back("sizes that the file leaves open: " + join(shapes.assumed, ", "));
  if (!shapes.unknown.empty()) {
    model.notes.push_back(
        fmt::format("at least: {} values have no known size and are not counted, the first is {}",
                    shapes.unknown.size(), shapes.unknown.front()));
  }
  model.notes.emplace_back(
      "as ONNX Runtime runs it on a GPU; workspaces of convolutions are not counted, and what it "
      "fuses beyond batch norms would take less");
  return model;
}

bool is_model(const std::string& path) {
  if (path == "-") return false;
  if (weight_format_of(path)) return true;
  const auto kind = machine::kind_of(path);
  return kind && *kind == EntryKind::folder;
}

Document default_job(const std::string& model) {
  Json job = {{"model", {{"config", model}}},
              {"method", {{"kind", "inference"}}},
              {"batch", {{"micro", 1}, {"sequence", 1024}, {"prompt", 1024}, {"generate", 256}}}};
  // llama.cpp keeps keys and values in half precision.
  if (model.ends_with(".gguf")) job["compute"] = {{"dtype", "fp16"}};
  return {std::move(job), {}};
}

std::string default_job_note(const estimate::Job& job, bool is_graph) {
  if (job.method.kind != estimate::MethodKind::inference)
    return "no job was given: what the flags do not say has its default";
  const std::string batch = job.batch.micro ? fmt::format("a batch of {}", *job.batch.micro)
                                            : "the largest batch that fits";
  const std::string what =
      is_graph ? ""
               : fmt::format(", a prompt of {} tokens and {} generated, in {}", job.batch.prompt,
                             job.batch.generate, to_string(job.compute.dtype));
  return fmt::format("no job was given: planned as inference with {}{}", batch, what);
}

}  // namespace headroom::run
