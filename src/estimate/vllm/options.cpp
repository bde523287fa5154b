// SPDX-License-Identifier: Apache-2.0
#include "estimate/vllm/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/document.h"
#include "base/text.h"
#include "estimate/option_words.h"

namespace headroom::estimate::vllm {
namespace {

using Kind = OptionKind;

// Far above what any card holds, and few enough that no size overflows.
constexpr std::uint64_t length_max = std::uint64_t{1} << 30U;
constexpr std::uint64_t tokens_max = std::uint64_t{1} << 26U;
constexpr std::uint64_t sequences_max = std::uint64_t{1} << 20U;
constexpr std::uint64_t bytes_max = std::uint64_t{1} << 50U;
constexpr std::uint64_t ranks_max = 1024;
constexpr std::uint64_t block_max = 65536;

constexpr std::array<Option, 18> options_of_vllm = {{
    {"model", ""},
    {"dtype", ""},
    {"kv-cache-dtype", ""},
    {"quantization", "q"},
    {"gpu-memory-utilization", ""},
    {"max-model-len", "", "", Kind::number, length_max},
    {"max-num-seqs", "", "", Kind::number, sequences_max},
    {"max-num-batched-tokens", "", "", Kind::number, tokens_max},
    {"kv-cache-memory-bytes", "", "kv-cache-memory", Kind::number, bytes_max},
    {"tensor-parallel-size", "tp", "", Kind::number, ranks_max},
    {"pipeline-parallel-size", "pp", "", Kind::number, ranks_max},
    {"block-size", "", "", Kind::number, block_max},
    {"enforce-eager", "", "", Kind::yes},
    {"no-enforce-eager", "", "", Kind::no},
    {"enable-chunked-prefill", "", "", Kind::yes},
    {"no-enable-chunked-prefill", "", "", Kind::no},
    {"version", "", "", Kind::text, 0, OptionPlace::headroom},
    {"use-v1", "", "", Kind::yes, 0, OptionPlace::job},
}};

constexpr OptionTable table = {options_of_vllm, "vllm serve", "vllm serve --help=all", "", true};

Error wrong(const GivenOption& given, std::string_view expected) {
  return wrong_option(table, given, expected);
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
  if (!(value >= 0) || value > static_cast<double>(bytes_max)) return std::nullopt;
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

Result<Done> take_dtype(const GivenOption& given, Options& options) {
  const std::string& value = given.value;
  constexpr std::array types = {"auto", "half", "float16", "bfloat16", "float", "float32"};
  if (std::find(types.begin(), types.end(), value) == types.end())
    return wrong(given, "auto, half, float16, bfloat16, float or float32");
  options.dtype = value == "half" ? "float16" : value == "float" ? "float32" : value;
  return Done{};
}

Result<Done> take_cache_dtype(const GivenOption& given, Options& options) {
  const std::string& value = given.value;
  constexpr std::array types = {"auto", "float16", "bfloat16"};
  if (!value.starts_with("fp8") && std::find(types.begin(), types.end(), value) == types.end())
    return Error{Errc::unsupported,
                 fmt::format("{}: expected auto, float16, bfloat16, fp8, fp8_e4m3 or fp8_e5m2, "
                             "found \"{}\", which is not planned",
                             given.spelled, value.substr(0, 80)),
                 "plan it with --kv-cache-dtype fp8"};
  options.kv_cache_dtype = value;
  return Done{};
}

Result<Done> take_text(const GivenOption& given, Options& options) {
  const std::string_view name = given.option->name;
  const std::string& value = given.value;
  if (value.empty()) return wrong(given, "a value");
  if (name == "model") options.model = value;
  if (name == "quantization") options.quantization = to_lower(value);
  if (name == "dtype") return take_dtype(given, options);
  if (name == "kv-cache-dtype") return take_cache_dtype(given, options);
  if (name == "version") {
    options.version = parse_version(value);
    if (!options.version) return wrong(given, "a version as in 0.11.0");
  }
  if (name == "gpu-memory-utilization") {
    const auto share = parse_double(value);
    if (!share || !(*share > 0) || *share > 1) return wrong(given, "a share above 0 and up to 1");
    options.utilization = *share;
  }
  return Done{};
}

Result<Done> take_number(const GivenOption& given, Options& options) {
  const std::string_view name = given.option->name;
  // -1 and auto ask vLLM for the longest that fits, which is what the plan finds as well.
  if (name == "max-model-len" && is_automatic(given.value)) return Done{};
  const auto number = parse_size(given.value);
  if (!number || *number == 0 || *number > given.option->most)
    return wrong(given, fmt::format("a number from 1 to {}", given.option->most));
  if (name == "max-model-len") options.max_length = *number;
  if (name == "max-num-seqs") options.max_sequences = *number;
  if (name == "max-num-batched-tokens") options.batched_tokens = *number;
  if (name == "kv-cache-memory-bytes") options.kv_cache_bytes = *number;
  if (name == "tensor-parallel-size") options.tensor_parallel = *number;
  if (name == "block-size") {
    if (*number % 8 != 0) return wrong(given, "a multiple of 8");
    options.block_size = *number;
  }
  if (name == "pipeline-parallel-size" && *number != 1)
    return Error{
        Errc::unsupported,
        fmt::format("{}: expected 1, found {}, which is not planned", given.spelled, *number),
        "plan it with --tensor-parallel-size " + std::to_string(*number)};
  return Done{};
}

Result<Done> take_switch(const GivenOption& given, Options& options) {
  HEADROOM_TRY(const bool on, switch_of(table, given));
  const std::string_view name = given.option->name;
  if (name.ends_with("enforce-eager")) options.enforce_eager = on;
  if (name.ends_with("chunked-prefill")) options.chunked_prefill = on;
  if (name == "use-v1") options.use_v1 = on;
  return Done{};
}

Result<ReadOptions> take_all(GivenOptions given) {
  ReadOptions read;
  for (const GivenOption& one : given.known) {
    if (one.option->kind == Kind::text) {
      HEADROOM_CHECK(take_text(one, read.options));
    } else if (one.option->kind == Kind::number) {
      HEADROOM_CHECK(take_number(one, read.options));
    } else {
      HEADROOM_CHECK(take_switch(one, read.options));
    }
  }
  read.unread = std::move(given.unread);
  return read;
}

}  // namespace

Result<ReadOptions> parse_options(const std::vector<std::string>& words) {
  HEADROOM_TRY(GivenOptions given, split_options(words, table));
  const std::string model = given.plain.empty() ? "" : given.plain.front();
  HEADROOM_TRY(ReadOptions read, take_all(std::move(given)));
  if (read.options.model.empty()) read.options.model = model;
  return read;
}

Result<ReadOptions> read_options(const Json& engine) {
  HEADROOM_TRY(GivenOptions given, split_options(engine, table));
  return take_all(std::move(given));
}

Result<Done> take_variable(const std::string& assignment, Options& options) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) return Done{};
  const std::string name = assignment.substr(0, equals);
  if (name != "VLLM_USE_V1" && name != "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS") return Done{};
  const std::string value = assignment.substr(equals + 1);
  const auto on = parse_switch(value);
  if (!on) return wrong({nullptr, name, value}, "0 or 1");
  (name == "VLLM_USE_V1" ? options.use_v1 : options.estimate_graphs) = *on;
  return Done{};
}

}  // namespace headroom::estimate::vllm
