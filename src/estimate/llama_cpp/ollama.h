// SPDX-License-Identifier: Apache-2.0
// ollama starts llama-server; here is with which options. Source: ollama/ollama as of August 2026
// (llm/llama_server.go, server/sched.go, server/routes.go, envconfig/config.go), which ships
// llama.cpp b10488.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "estimate/llama_cpp/llama_plan.h"

namespace headroom::estimate::llama {

struct OllamaSettings {
  std::optional<std::uint64_t> num_ctx;    // Of one request. Nothing: by the card's memory.
  std::optional<std::uint64_t> num_batch;  // Nothing: by the context.
  std::optional<std::uint64_t> num_gpu;    // Layers; nothing: as many as fit.
  std::uint64_t parallel = 1;
  std::string cache_type;  // Empty: f16.
  Switch flash_attention = Switch::automatic;
  std::uint64_t overhead_bytes = 0;  // Of each card, left alone.
  bool use_mmap = true;
};

// OLLAMA_CONTEXT_LENGTH and its like; an empty one is not set. False for a variable that decides no
// memory. Fails on a value that is none of it.
Result<bool> take_ollama_variable(const std::string& name, const std::string& text,
                                  OllamaSettings& settings);

// num_ctx and its like, of a Modelfile or of `/set parameter`. Likewise.
Result<bool> take_ollama_parameter(const std::string& name, const std::string& value,
                                   OllamaSettings& settings);

// llama-server's options for a model. `total_bytes` is the card's memory, 0 where it is not known.
// What ollama chose by itself is added to `notes`.
Options to_llama_options(const OllamaSettings& settings, const Model& model,
                         std::uint64_t total_bytes, std::vector<std::string>& notes);

// Puts ollama's own words in the place of llama-server's, and leaves out what ollama cannot be
// told.
void say_as_ollama(const std::string& name, LlamaPlan& plan);

}  // namespace headroom::estimate::llama
