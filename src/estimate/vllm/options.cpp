// SPDX-License-Identifier: Apache-2.0
#include "estimate/vllm/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/document.h"
#include "base/text.h"

namespace headroom::estimate::vllm {
namespace {

enum class Kind : std::uint8_t { text, number, size, share, yes, no };

struct Option {
  std::string_view name;  // Without its dashes: also the key of a job.
  std::string_view brief;
  Kind kind;
};

constexpr std::array<Option, 19> table = {{
    {"model", "", Kind::text},
    {"dtype", "", Kind::text},
    {"kv-cache-dtype", "", Kind::text},
    {"quantization", "q", Kind::text},
    {"gpu-memory-utilization", "", Kind::share},
    {"max-model-len", "", Kind::size},
    {"max-num-seqs", "", Kind::number},
    {"max-num-batched-tokens", "", Kind::size},
    {"kv-cache-memory-bytes", "", Kind::size},
    {"kv-cache-memory", "", Kind::size},
    {"tensor-parallel-size", "tp", Kind::number},
    {"pipeline-parallel-size", "pp", Kind::number},
    {"block-size", "", Kind::number},
    {"enforce-eager", "", Kind::yes},
    {"no-enforce-eager", "", Kind::no},
    {"enable-chunked-prefill", "", Kind::yes},
    {"no-enable-chunked-prefill", "", Kind::no},
    {"version", "", Kind::text},
    {"use-v1", "", Kind::yes},
}};

constexpr std::uint64_t number_max = std::uint64_t{1} << 40U;

const Option* find_option(std::string_view name, bool brief) {
  const auto* const found = std::find_if(table.begin(), table.end(), [&](const Option& one) {
    return one.name == name || (brief && !one.brief.empty() && one.brief == name);
  });
  return found == table.end() ? nullptr : &*found;
}

// Options that take no value, of which headroom needs none.
bool is_plain_switch(std::string_view name) {
  constexpr std::array names = {"trust-remote-code", "use-tqdm-on-load", "headless",
                                "async-scheduling"};
  return name.starts_with("enable-") || name.starts_with("disable-") || name.starts_with("no-") ||
         std::find(names.begin(), names.end(), name) != names.end();
}

Error wrong(std::string_view spelled, std::string_view expected, std::string_view found) {
  return {Errc::invalid,
          fmt::format(
              "{}: expected {}, found {}", spelled, expected,
              found.empty() ? std::string("nothing") : fmt::format("\"{}\"", found.substr(0, 80))),
          "write it as vllm serve --help=all shows"};
}

// "8192", "8k" (thousands) and "8K" (of 1024), as vLLM's human_readable_int has it.
std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t unit = 1;
  constexpr std::string_view letters = "kmgt";
  if (!text.empty()) {
    const char last = text.back();
    const std::size_t at = letters.find(to_lower(std::string_view(&last, 1)));
    if (at != std::string_view::npos) {
      const std::uint64_t base = last >= 'a' ? 1000 : 1024;
      for (std::size_t i = 0; i <= at; ++i) unit *= base;
      text.remove_suffix(1);
    }
  }
  const auto number = parse_double(text);
  const double value = number ? *number * static_cast<double>(unit) : -1;
  if (!(value >= 0) || value > static_cast<double>(number_max)) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

std::optional<Version> parse_version(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const auto parts = split(text.substr(0, text.find_first_not_of("0123456789.")), '.');
  std::array<std::uint64_t, 3> numbers{};
  if (parts.size() < 2) return std::nullopt;
  for (std::size_t i = 0; i < std::min(parts.size(), numbers.size()); ++i) {
    if (parts[i].empty() && i >= 2) break;  // "0.17." of "0.17.rc1"
    const auto number = parse_u64(parts[i]);
    if (!number) return std::nullopt;
    numbers[i] = *number;
  }
  return Version{numbers[0], numbers[1], numbers[2]};
}

Result<bool> is_on(std::string_view spelled, const std::string& value) {
  const std::string word = to_lower(value);
  if (word.empty() || word == "true" || word == "1" || word == "on") return true;
  if (word == "false" || word == "0" || word == "off") return false;
  return wrong(spelled, "true or false", value);
}

Result<Done> take_text(std::string_view name, const std::string& value, const std::string& spelled,
                       Options& options) {
  if (value.empty()) return wrong(spelled, "a value", value);
  if (name == "model") options.model = value;
  if (name == "quantization") options.quantization = to_lower(value);
  if (name == "version") {
    options.version = parse_version(value);
    if (!options.version) return wrong(spelled, "a version as in 0.11.0", value);
  }
  if (name == "dtype") {
    constexpr std::array types = {"auto", "half", "float16", "bfloat16", "float", "float32"};
    if (std::find(types.begin(), types.end(), value) == types.end())
      return wrong(spelled, "auto, half, float16, bfloat16, float or float32", value);
    options.dtype = value == "half" ? "float16" : value == "float" ? "float32" : value;
  }
  if (name == "kv-cache-dtype") {
    constexpr std::array types = {"auto", "float16", "bfloat16"};
    if (!value.starts_with("fp8") && std::find(types.begin(), types.end(), value) == types.end())
      return Error{Errc::unsupported,
                   fmt::format("{}: expected auto, float16, bfloat16, fp8, fp8_e4m3 or fp8_e5m2, "
                               "found \"{}\", which is not planned",
                               spelled, value.substr(0, 80)),
                   "plan it with --kv-cache-dtype fp8"};
    options.kv_cache_dtype = value;
  }
  return Done{};
}

Result<Done> take_number(std::string_view name, const std::string& value,
                         const std::string& spelled, Options& options) {
  const auto number = parse_size(value);
  // -1 and auto ask vLLM for the longest that fits, which is what the plan finds as well.
  if (name == "max-model-len" && (value == "-1" || value == "auto")) return Done{};
  if (!number || *number == 0) return wrong(spelled, "a number above 0", value);
  constexpr std::uint64_t ranks_max = 1024;
  if (name == "max-model-len") options.max_length = *number;
  if (name == "max-num-seqs") options.max_sequences = *number;
  if (name == "max-num-batched-tokens") options.batched_tokens = *number;
  if (name.starts_with("kv-cache-memory")) options.kv_cache_bytes = *number;
  if (name == "tensor-parallel-size") {
    if (*number > ranks_max) return wrong(spelled, "a number of GPUs", value);
    options.tensor_parallel = *number;
  }
  if (name == "block-size") {
    if (*number % 8 != 0 || *number > 65536) return wrong(spelled, "a multiple of 8", value);
    options.block_size = *number;
  }
  if (name == "pipeline-parallel-size" && *number != 1)
    return Error{Errc::unsupported,
                 fmt::format("{}: expected 1, found {}, which is not planned", spelled, *number),
                 "plan it with --tensor-parallel-size " + std::to_string(*number)};
  return Done{};
}

Result<Done> take(const Option& option, const std::string& value, const std::string& spelled,
                  Options& options) {
  switch (option.kind) {
    case Kind::text:
      return take_text(option.name, value, spelled, options);
    case Kind::number:
    case Kind::size:
      return take_number(option.name, value, spelled, options);
    case Kind::share: {
      const auto share = parse_double(value);
      if (!share || !(*share > 0) || *share > 1)
        return wrong(spelled, "a share above 0 and up to 1", value);
      options.utilization = *share;
      return Done{};
    }
    case Kind::yes:
    case Kind::no:
      break;
  }
  HEADROOM_TRY(const bool said, is_on(spelled, value));
  const bool on = said == (option.kind == Kind::yes);
  if (option.name.ends_with("enforce-eager")) options.enforce_eager = on;
  if (option.name.ends_with("chunked-prefill")) options.chunked_prefill = on;
  if (option.name == "use-v1") options.use_v1 = on;
  return Done{};
}

std::string to_word(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump();
}

bool is_switch_word(const std::string& word) {
  return word == "True" || word == "False" || word == "true" || word == "false";
}

}  // namespace

Result<ReadOptions> parse_options(const std::vector<std::string>& words) {
  ReadOptions read;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with('-')) {
      if (read.options.model.empty()) read.options.model = word;
      continue;
    }
    const std::size_t equals = word.find('=');
    const bool is_long = word.starts_with("--");
    std::string name =
        word.substr(is_long ? 2 : 1,
                    equals == std::string::npos ? std::string::npos : equals - (is_long ? 2 : 1));
    std::replace(name.begin(), name.end(), '_', '-');
    const Option* option = find_option(name, !is_long);
    const bool is_key = name == "version" || name == "use-v1";
    // Of headroom's own, as no option of vLLM tells which version it is.
    if (name == "headroom-version") option = find_option("version", false);
    const bool has_next = i + 1 < words.size() && !words[i + 1].starts_with('-');
    if (option == nullptr || is_key) {
      read.unread.push_back(word.substr(0, equals));
      if (equals == std::string::npos && has_next && !is_plain_switch(name)) ++i;
      continue;
    }
    const bool is_switch = option->kind == Kind::yes || option->kind == Kind::no;
    std::string value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (is_switch ? has_next && is_switch_word(words[i + 1]) : i + 1 < words.size()) {
      value = words[++i];
    } else if (!is_switch) {
      return wrong(word, "a value", "");
    }
    HEADROOM_CHECK(take(*option, value, word.substr(0, equals), read.options));
  }
  return read;
}

Result<ReadOptions> read_options(const Json& engine) {
  ReadOptions read;
  for (const auto& [key, value] : engine.items()) {
    if (key == "kind") continue;
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', '-');
    const Option* option = find_option(name, false);
    if (option == nullptr)
      return Error{
          Errc::invalid,
          fmt::format("engine.{}: expected an option of vllm serve by its long name, found "
                      "one that is not known",
                      key.substr(0, 80)),
          "the keys that are read are listed in docs/plan.md", "engine"};
    HEADROOM_CHECK(take(*option, to_word(value), "engine." + key, read.options));
  }
  return read;
}

Result<Done> take_variable(const std::string& assignment, Options& options) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) return Done{};
  const std::string name = assignment.substr(0, equals);
  if (name != "VLLM_USE_V1" && name != "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS") return Done{};
  HEADROOM_TRY(const bool on, is_on(name, assignment.substr(equals + 1)));
  (name == "VLLM_USE_V1" ? options.use_v1 : options.estimate_graphs) = on;
  return Done{};
}

}  // namespace headroom::estimate::vllm
