// SPDX-License-Identifier: Apache-2.0
#include "estimate/llama_cpp/ollama.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/text.h"

namespace headroom::estimate::llama {
namespace {

// As of llama.cpp's own options (options.cpp).
constexpr std::uint64_t context_max = std::uint64_t{1} << 28U;
constexpr std::uint64_t batch_max = std::uint64_t{1} << 20U;
constexpr std::uint64_t sequences_max = 256;  // LLAMA_MAX_SEQ
constexpr std::uint64_t number_max = std::uint64_t{1} << 32U;

Error wrong(const std::string& name, std::string_view expected, const std::string& found) {
  return {Errc::invalid,
          fmt::format("{}: expected {}, found \"{}\"", name, expected, found.substr(0, 80)),
          "ollama serve --help lists its variables, docs/plan.md what headroom reads"};
}

std::uint64_t most_of(std::string_view name) {
  if (name == "OLLAMA_CONTEXT_LENGTH" || name == "num_ctx") return context_max;
  if (name == "OLLAMA_NUM_PARALLEL") return sequences_max;
  return name == "num_batch" ? batch_max : number_max;
}

Result<std::optional<std::uint64_t>> parse_number(const std::string& name,
                                                  const std::string& value) {
  if (value == "-1") return std::optional<std::uint64_t>();  // ollama's own choice.
  const auto number = parse_u64(value);
  if (!number || *number > most_of(name))
    return wrong(name, fmt::format("a whole number up to {}", most_of(name)), value);
  return std::optional(*number);
}

// As ollama reads a variable (envconfig.Var): blanks and quotes around it do not count.
std::string value_of(std::string_view text) {
  text = trim(text);
  const std::size_t begin = text.find_first_not_of("\"'");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of("\"'") + 1 - begin));
}

Result<bool> parse_switch(const std::string& name, const std::string& value) {
  const std::string word = to_lower(value);
  if (word == "1" || word == "true" || word == "t") return true;
  if (word == "0" || word == "false" || word == "f") return false;
  return wrong(name, "1 or 0", value);
}

std::uint64_t default_context(std::uint64_t total_bytes) {
  if (total_bytes >= (47_GiB).value) return 262144;
  if (total_bytes >= (23_GiB).value) return 32768;
  return 4096;
}

bool serves_one_request(const std::string& architecture) {
  constexpr std::array names = {"mllama",     "qwen3vl",        "qwen3vlmoe",     "qwen35",
                                "qwen35moe",  "qwen3next",      "lfm2",           "lfm2moe",
                                "nemotron_h", "nemotron_h_moe", "nemotron_h_omni"};
  return std::find(names.begin(), names.end(), architecture) != names.end();
}

// ollama's own estimate, by which it chooses the batch: the file, and a cache in f16.
std::uint64_t predicted_bytes(const Model& model, std::uint64_t context) {
  std::uint64_t kv_heads = number_max, heads = 0;
  for (const Layer& layer : model.layers) {
    kv_heads = std::min(kv_heads, layer.kv_heads);
    heads = std::max(heads, layer.heads);
  }
  kv_heads = model.layers.empty() ? 1 : std::max<std::uint64_t>(1, kv_heads);
  const std::uint64_t head_dim = heads == 0 ? 0 : model.hidden / heads;
  return model.weight_bytes() + 4 * model.layers.size() * kv_heads * head_dim * context;
}

// The largest batch for which its estimate leaves enough of the card.
std::uint64_t batch_of(const Model& model, std::uint64_t context, std::uint64_t available) {
  struct Step {
    std::uint64_t batch, above, percent, surcharge_bytes;
  };
  constexpr std::array<Step, 2> steps = {
      {{2048, 32768, 60, (2048_MiB).value}, {1024, 4096, 75, (768_MiB).value}}};
  const std::uint64_t predicted = predicted_bytes(model, context);
  const std::uint64_t threshold = available / 100 * 80;
  for (const Step& step : steps) {
    if (context <= step.above) continue;
    const bool fits = available == 0 || (predicted + step.surcharge_bytes <= threshold &&
                                         predicted <= available / 100 * step.percent);
    if (fits) return step.batch;
  }
  return 512;
}

std::vector<std::string> words_of(const LlamaPlan& plan) {
  const Options& options = plan.options;
  const Context& context = plan.memory.context;
  std::vector<std::string> words = {
      fmt::format("OLLAMA_CONTEXT_LENGTH={}", context.context / context.sequences),
      fmt::format("OLLAMA_NUM_PARALLEL={}", context.sequences),
      fmt::format("OLLAMA_FLASH_ATTENTION={}", context.flash ? 1 : 0)};
  if (options.cache_type_k != "f16")
    words.push_back("OLLAMA_KV_CACHE_TYPE=" + options.cache_type_k);
  words.emplace_back("ollama");
  words.emplace_back("serve");
  return words;
}

}  // namespace

Result<bool> take_ollama_variable(const std::string& name, const std::string& text,
                                  OllamaSettings& settings) {
  constexpr std::array names = {"OLLAMA_CONTEXT_LENGTH", "OLLAMA_NUM_PARALLEL",
                                "OLLAMA_GPU_OVERHEAD", "OLLAMA_KV_CACHE_TYPE",
                                "OLLAMA_FLASH_ATTENTION"};
  if (std::find(names.begin(), names.end(), name) == names.end()) return false;
  const std::string value = value_of(text);
  if (value.empty()) return true;  // To ollama it is not set.
  if (name == "OLLAMA_KV_CACHE_TYPE") {
    settings.cache_type = to_lower(value);
    return true;
  }
  if (name == "OLLAMA_FLASH_ATTENTION") {
    HEADROOM_TRY(const bool on, parse_switch(name, value));
    settings.flash_attention = on ? Switch::on : Switch::off;
    return true;
  }
  if (name == "OLLAMA_GPU_OVERHEAD") {
    const auto bytes = parse_u64(value);
    if (!bytes) return wrong(name, "a number of bytes", value);
    settings.overhead_bytes = *bytes;
    return true;
  }
  HEADROOM_TRY(const auto number, parse_number(name, value));
  if (name == "OLLAMA_CONTEXT_LENGTH" && number.value_or(0) > 0) settings.num_ctx = number;
  if (name == "OLLAMA_NUM_PARALLEL")
    settings.parallel = std::max<std::uint64_t>(1, number.value_or(1));
  return true;
}

Result<bool> take_ollama_parameter(const std::string& name, const std::string& value,
                                   OllamaSettings& settings) {
  if (name == "use_mmap") {
    HEADROOM_TRY(settings.use_mmap, parse_switch(name, value));
    return true;
  }
  if (name != "num_ctx" && name != "num_batch" && name != "num_gpu") return false;
  HEADROOM_TRY(const auto number, parse_number(name, value));
  if (name == "num_gpu")
    settings.num_gpu = number;
  else if (number.value_or(0) > 0)
    (name == "num_ctx" ? settings.num_ctx : settings.num_batch) = number;
  return true;
}

Options to_llama_options(const OllamaSettings& settings, const Model& model,
                         std::uint64_t total_bytes, std::vector<std::string>& notes) {
  Options options;
  // A card of which nothing is left is known all the same: 0 would mean that it is not.
  const std::uint64_t total =
      total_bytes == 0
          ? 0
          : std::max<std::uint64_t>(
                saturating_sub(Bytes{total_bytes}, Bytes{settings.overhead_bytes}).value, 1);
  std::uint64_t context = settings.num_ctx.value_or(default_context(total));
  if (!settings.num_ctx)
    notes.push_back(fmt::format(
        "No context was given: ollama takes {} tokens on {}, and less where loading fails.",
        context,
        total_bytes == 0 ? "a machine whose card is not known"
                         : "a card of " + to_string(Bytes{total_bytes})));
  if (model.trained_context > 0 && context > model.trained_context) {
    context = model.trained_context;
    notes.push_back(
        fmt::format("ollama lowers the context to what the model was trained with, {}.", context));
  }
  std::uint64_t parallel = settings.parallel;
  if (parallel > 1 && serves_one_request(model.architecture)) {
    parallel = 1;
    notes.push_back("ollama serves one request at a time with this architecture.");
  }
  options.context = context * parallel;
  options.parallel = parallel;
  options.batch = settings.num_batch.value_or(batch_of(model, context * parallel, total));
  options.ubatch = options.batch;
  if (!settings.num_batch && options.batch != 512)
    notes.push_back(fmt::format("ollama takes steps of {} tokens for such a context (num_batch).",
                                options.batch));
  if (!settings.cache_type.empty())
    options.cache_type_k = options.cache_type_v = settings.cache_type;
  options.flash_attention = settings.flash_attention;
  options.gpu_layers = settings.num_gpu;
  options.mmap = settings.use_mmap;
  return options;
}

void say_as_ollama(const std::string& name, LlamaPlan& plan) {
  plan.arguments = words_of(plan);
  std::vector<Fitting> kept;
  const std::uint64_t sequences = plan.memory.context.sequences;
  for (Fitting& one : plan.fitting) {
    const std::string option = one.arguments.front();
    if (option == "-c") {
      const auto context = parse_u64(one.arguments.back()).value_or(0);
      one.arguments = {fmt::format("OLLAMA_CONTEXT_LENGTH={}", context / sequences)};
    } else if (option == "-ngl") {
      one.arguments = {"ollama", "run", name, "/set", "parameter", "num_gpu", one.arguments.back()};
    } else {
      continue;
    }
    kept.push_back(std::move(one));
  }
  plan.fitting = std::move(kept);
}

}  // namespace headroom::estimate::llama
