// SPDX-License-Identifier: Apache-2.0
// Job files whose [engine] is another program than PyTorch: llama.cpp, ollama, vLLM.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/document.h"

namespace headroom::run {

// The file at `path` if its [engine] has this kind. Nothing for any other, or one that cannot be
// read: whoever loads it as any other job says why.
std::optional<Document> read_engine_job(const std::string& path, std::string_view kind);

// A path as a job file writes it: below that file's folder unless it begins with a slash.
std::string below(const std::string& job_file, const std::string& path);

}  // namespace headroom::run
