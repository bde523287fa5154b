// SPDX-License-Identifier: Apache-2.0
// A model's weight files, wherever model.config points: one file, one of several shards, or a
// folder. Only headers are read.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "estimate/files/gguf_header.h"
#include "estimate/files/onnx_model.h"
#include "estimate/files/weight_file.h"

namespace headroom::run {

// By the path's ending: .gguf, .onnx, .safetensors.
std::optional<estimate::WeightFileFormat> weight_format_of(const std::string& path);

// A GGUF file's header with the tensors of all its parts. Of a model in parts
// ("model-00001-of-00003.gguf") any one may be named; all must be there.
Result<estimate::GgufHeader> read_gguf_parts(const std::string& path);

struct GgufModel {
  estimate::WeightFile weights;  // Of all shards.
  Json config;                   // As the model's config.json would say it.
};
Result<GgufModel> read_gguf(const std::string& path);

Result<std::shared_ptr<const estimate::OnnxModel>> read_onnx(const std::string& path);

// One file of safetensors.
Result<estimate::WeightFile> read_safetensors(const std::string& path);

// The safetensors of a Hugging Face folder: what model.safetensors.index.json names, or
// model.safetensors. Nothing where the folder has neither.
Result<std::optional<estimate::WeightFile>> read_folder_weights(const std::string& folder);

// The names of the models in a folder that are one file each: .gguf (of shards the first) and
// .onnx.
Result<std::vector<std::string>> list_weight_files(const std::string& folder);

}  // namespace headroom::run
