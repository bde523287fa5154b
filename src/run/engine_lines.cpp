// SPDX-License-Identifier: Apache-2.0
#include "run/engine_lines.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "run/log_words.h"

namespace headroom::run {
namespace {

bool has(std::string_view text, std::string_view mark) {
  return text.find(mark) != std::string_view::npos;
}

// "torch.bfloat16" → "bfloat16", "DType.half" and the like by their last word.
std::string last_word(const std::string& value) {
  return value.substr(value.rfind('.') + 1);
}

// The text between a mark and the next other one.
std::string between(std::string_view text, std::string_view mark, std::string_view end) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return "";
  text.remove_prefix(at + mark.size());
  return std::string(text.substr(0, text.find(end)));
}

}  // namespace

void EngineLog::set(const std::string& name, const std::string& value, const std::string& from,
                    std::uint64_t line) {
  options[name] = {value, from, line};
}

void EngineLog::add_size(const std::string& what, Bytes size, std::uint64_t line) {
  const auto found = std::find_if(sizes.begin(), sizes.end(),
                                  [&what](const PrintedSize& one) { return one.what == what; });
  if (found == sizes.end())
    sizes.push_back({what, size, line});
  else
    *found = {what, size, line};
}

void VllmLines::take(std::uint64_t line, std::string_view text) {
  if (has(text, "LLM engine (v") && has(text, "with config:")) take_config(line, text);
  if (has(text, "non-default args:") || has(text, "args: Namespace(")) take_arguments(line, text);
  take_sizes(line, text);
}

// "Initializing a V1 LLM engine (v0.8.5) with config: model='…', dtype=torch.bfloat16, …"
void VllmLines::take_config(std::uint64_t line, std::string_view text) {
  const auto model = value_of_key(text, "model");
  if (!model) return;
  log.model = PrintedOption{*model, "model", line};
  is_v0 = !has(text, " V1 LLM engine");
  log.set("headroom-version", between(text, "LLM engine (v", ")"), "the engine's version", line);
  constexpr std::array<std::pair<const char*, const char*>, 5> keys = {
      {{"max_seq_len", "max-model-len"},
       {"tensor_parallel_size", "tensor-parallel-size"},
       {"pipeline_parallel_size", "pipeline-parallel-size"},
       {"quantization", "quantization"},
       {"kv_cache_dtype", "kv-cache-dtype"}}};
  for (const auto& [key, name] : keys)
    if (const auto value = value_of_key(text, key)) log.set(name, *value, key, line);
  if (const auto type = value_of_key(text, "dtype"))
    log.set("dtype", last_word(*type), "dtype", line);
  if (value_of_key(text, "enforce_eager") == "True")
    log.set("enforce-eager", "", "enforce_eager", line);
}

// "non-default args: {'gpu_memory_utilization': 0.8, …}", "args: Namespace(…)"
void VllmLines::take_arguments(std::uint64_t line, std::string_view text) {
  constexpr std::array<std::pair<const char*, const char*>, 5> keys = {
      {{"gpu_memory_utilization", "gpu-memory-utilization"},
       {"max_num_seqs", "max-num-seqs"},
       {"max_num_batched_tokens", "max-num-batched-tokens"},
       {"block_size", "block-size"},
       {"kv_cache_memory_bytes", "kv-cache-memory-bytes"}}};
  for (const auto& [key, name] : keys)
    if (const auto value = value_of_key(text, key)) log.set(name, *value, key, line);
}

void VllmLines::take_sizes(std::uint64_t line, std::string_view text) {
  if (const auto tokens = count_behind(text, "enabled with max_num_batched_tokens="))
    log.set("max-num-batched-tokens", std::to_string(*tokens), "max_num_batched_tokens", line);
  // V0: "total_gpu_memory (23.55GiB) x gpu_memory_utilization (0.90)"
  if (const auto total = size_behind(text, "total_gpu_memory (")) log.total = total;
  if (const std::string share = word_behind(text, "gpu_memory_utilization ("); !share.empty())
    log.set("gpu-memory-utilization", share, "gpu_memory_utilization", line);
  constexpr std::array<std::pair<const char*, const char*>, 8> marks = {
      {{"Model loading took", "weights"},
       {"model weights take", "weights"},
       {"activation peak memory takes", "profile run"},
       {"non_torch_memory takes", "beside PyTorch"},
       {"reserved for KV Cache is", "cache"},
       {"Available KV cache memory:", "cache"},
       {"CUDA graph memory:", "graphs"},
       {"secs, took", "graphs"}}};
  for (const auto& [mark, what] : marks)
    if (const auto size = size_behind(text, mark)) log.add_size(what, *size, line);
}

void LlamaLines::take(std::uint64_t line, std::string_view text) {
  // "loaded meta data with 25 key-value pairs and 291 tensors from FILE (version GGUF V3 (latest))"
  if (has(text, "loaded meta data with ")) {
    const std::string path = between(text, " tensors from ", " (version ");
    if (!path.empty()) log.model = PrintedOption{path, "loaded meta data", line};
  }
  if (const auto build = count_behind(text, "build: "); build && has(text, " with "))
    log.set("headroom-build", std::to_string(*build), "build", line);
  if (const auto layers = count_behind(text, "offloaded "); layers && has(text, "layers to GPU"))
    log.set("n-gpu-layers", std::to_string(*layers), "offloaded layers", line);
  if (has(text, "(mmap = false)")) log.set("no-mmap", "", "mmap", line);
  is_server = is_server || text.starts_with("srv ") || has(text, "server is listening");
  take_context(line, text);
  take_sizes(line, text);
}

// "llama_context: n_ctx         = 4096"
void LlamaLines::take_context(std::uint64_t line, std::string_view text) {
  if (!has(text, "llama_context:") && !has(text, "llama_new_context_with_model:") &&
      !has(text, "llama_init_from_model:") && !has(text, "Flash Attention was auto"))
    return;
  constexpr std::array<std::pair<const char*, const char*>, 4> keys = {{{"n_ctx", "ctx-size"},
                                                                        {"n_batch", "batch-size"},
                                                                        {"n_ubatch", "ubatch-size"},
                                                                        {"n_seq_max", "parallel"}}};
  for (const auto& [key, name] : keys)
    if (const auto value = value_of_key(text, key)) log.set(name, *value, key, line);
  if (value_of_key(text, "kv_unified") == "true") log.set("kv-unified", "", "kv_unified", line);
  std::string flash = value_of_key(text, "flash_attn").value_or("");
  if (const std::string set = word_behind(text, "was auto, set to"); !set.empty()) flash = set;
  if (flash == "1" || flash == "enabled" || flash == "0" || flash == "disabled")
    log.set("flash-attn", flash == "1" || flash == "enabled" ? "on" : "off", "flash_attn", line);
}

void LlamaLines::take_sizes(std::uint64_t line, std::string_view text) {
  for (const auto& [mark, name] : {std::pair("K (", "cache-type-k"), {"V (", "cache-type-v"}}) {
    const std::string type = between(text, mark, ")");
    if (has(text, "MiB") && !type.empty() && type.size() < 8)
      log.set(name, type, "the cache", line);
  }
  // "load_tensors:        CUDA0 model buffer size =  4095.16 MiB"
  for (const char* kind : {"model", "KV", "compute", "output"}) {
    const std::string mark = std::string(kind) + " buffer size =";
    const auto size = size_behind(text, mark);
    if (!size) continue;
    const auto words = split_words(text.substr(0, text.find(mark)));
    if (!words.empty() && !words.back().ends_with(':'))
      log.add_size(std::string(words.back()) + " " + kind + " buffer", *size, line);
  }
}

}  // namespace headroom::run
