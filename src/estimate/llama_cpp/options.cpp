// SPDX-License-Identifier: Apache-2.0
#include "estimate/llama_cpp/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/document.h"
#include "base/text.h"
#include "estimate/option_words.h"

namespace headroom::estimate::llama {
namespace {

using Kind = OptionKind;

// More than any model was trained with, and few enough that no size overflows.
constexpr std::uint64_t context_max = std::uint64_t{1} << 28U;
constexpr std::uint64_t batch_max = std::uint64_t{1} << 20U;
constexpr std::uint64_t sequences_max = 256;  // LLAMA_MAX_SEQ
constexpr std::uint64_t every_layer = std::uint64_t{1} << 32U;
constexpr auto in_job = OptionPlace::job;
constexpr auto own = OptionPlace::headroom;

constexpr std::array<Option, 32> options_of_llama = {{
    {"model", "m"},
    {"ctx-size", "c", "", Kind::number, context_max},
    {"batch-size", "b", "batch", Kind::number, batch_max},
    {"ubatch-size", "ub", "ubatch", Kind::number, batch_max},
    {"parallel", "np", "n-parallel", Kind::number, sequences_max},
    {"kv-unified", "kvu", "", Kind::yes},
    {"no-kv-unified", "no-kvu", "", Kind::no},
    {"n-gpu-layers", "ngl", "gpu-layers"},
    {"split-mode", "sm"},
    {"tensor-split", "ts"},
    {"main-gpu", "mg", "", Kind::number, 128},
    {"device", "dev"},
    {"flash-attn", "fa", "", Kind::maybe},
    {"cache-type-k", "ctk"},
    {"cache-type-v", "ctv"},
    {"swa-full", "", "", Kind::yes},
    {"kv-offload", "kvo", "", Kind::yes},
    {"no-kv-offload", "nkvo", "", Kind::no},
    {"op-offload", "", "", Kind::yes},
    {"no-op-offload", "nopo", "", Kind::no},
    {"mmap", "", "", Kind::yes},
    {"no-mmap", "", "", Kind::no},
    {"load-mode", "lm"},
    {"embedding", "", "embeddings", Kind::yes},
    {"cpu-moe", "cmoe", "", Kind::yes},
    {"n-cpu-moe", "ncmoe", "", Kind::number, every_layer},
    {"override-tensor", "ot"},
    {"build", "", "", Kind::text, 0, own},
    {"program", "", "", Kind::text, 0, in_job},
    {"sequences", "ns", "", Kind::number, sequences_max},
    {"mlock", "", "", Kind::yes},
    {"fit", "", "", Kind::maybe},
}};

constexpr OptionTable table = {options_of_llama, "llama-server", "llama-server --help",
                               "LLAMA_ARG_", false};

Error wrong(const GivenOption& given, std::string_view expected) {
  return wrong_option(table, given, expected);
}

std::vector<std::string> split_list(const std::string& value) {
  std::vector<std::string> words;
  for (const std::string_view word : split(value, ',')) words.emplace_back(trim(word));
  return words;
}

Result<Done> take_number(const GivenOption& given, Options& options) {
  if (given.value == "-1") return Done{};  // The program's own choice.
  HEADROOM_TRY(const std::uint64_t number, number_of(table, given));
  const std::string_view name = given.option->name;
  const bool is_sequences = name == "parallel" || name == "sequences";
  if (number == 0 && (is_sequences || name == "batch-size"))
    return wrong(given, "a number above 0");
  if (name == "ctx-size") options.context = number;
  if (name == "batch-size") options.batch = number;
  if (name == "ubatch-size") options.ubatch = number;
  if (name == "main-gpu") options.main_gpu = number;
  if (name == "n-cpu-moe") options.cpu_moe_layers = number;
  if (is_sequences) options.parallel = number;
  return Done{};
}

Result<Done> take_switch(const GivenOption& given, Options& options) {
  const std::string_view name = given.option->name;
  if (given.option->kind == Kind::maybe && is_automatic(given.value)) {
    if (name == "flash-attn") options.flash_attention = Switch::automatic;
    return Done{};
  }
  HEADROOM_TRY(const bool on, switch_of(table, given));
  if (name == "flash-attn") options.flash_attention = on ? Switch::on : Switch::off;
  if (name.ends_with("kv-unified")) options.kv_unified = on;
  if (name.ends_with("kv-offload")) options.kv_offload = on;
  if (name.ends_with("op-offload")) options.op_offload = on;
  if (name.ends_with("mmap")) options.mmap = on;
  if (name == "swa-full") options.swa_full = on;
  if (name == "embedding") options.embeddings = on;
  if (name == "cpu-moe" && on) options.cpu_moe_layers = every_layer;
  return Done{};
}

Result<Done> take_layers(const GivenOption& given, Options& options) {
  const std::string& value = given.value;
  if (is_automatic(value) || value == "all" || value == "-2") return Done{};
  const auto number = parse_u64(value);
  if (!number) return wrong(given, "a number of layers, auto or all");
  options.gpu_layers = *number;
  return Done{};
}

Result<Done> take_mode(const GivenOption& given, Options& options) {
  const std::string& value = given.value;
  if (value == "tensor")
    return Error{Errc::unsupported,
                 fmt::format("{}: expected none, layer or row, found tensor, which is not planned",
                             given.spelled),
                 "plan it with --split-mode layer"};
  if (value != "none" && value != "layer" && value != "row")
    return wrong(given, "none, layer or row");
  options.split_mode = value == "none"    ? SplitMode::none
                       : value == "layer" ? SplitMode::layer
                                          : SplitMode::row;
  return Done{};
}

// "3,1" or "3/1".
Result<Done> take_split(const GivenOption& given, Options& options) {
  std::string value = given.value;
  std::replace(value.begin(), value.end(), '/', ',');
  std::vector<double> shares;
  double sum = 0;
  for (const std::string& word : split_list(value)) {
    const auto share = parse_double(word);
    if (!share || !(*share >= 0) || *share > 1e12 || shares.size() >= 128)
      return wrong(given, "a share for each GPU as in 3,1");
    shares.push_back(*share);
    sum += *share;
  }
  if (sum > 0) options.tensor_split = std::move(shares);
  return Done{};
}

Result<Done> take_overrides(const GivenOption& given, Options& options) {
  for (const std::string& word : split_list(given.value)) {
    const std::size_t equals = word.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
      return wrong(given, "PATTERN=BUFFER");
    options.overrides.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
  return Done{};
}

Result<Done> take_text(const GivenOption& given, Options& options) {
  const std::string_view name = given.option->name;
  const std::string& value = given.value;
  if (value.empty()) return wrong(given, "a value");
  if (name == "model") options.model = value;
  if (name == "cache-type-k") options.cache_type_k = value;
  if (name == "cache-type-v") options.cache_type_v = value;
  if (name == "device") options.devices = split_list(value);
  if (name == "load-mode")
    options.mmap = value.find("mmap") != std::string::npos || value == "auto";
  if (name == "n-gpu-layers") return take_layers(given, options);
  if (name == "split-mode") return take_mode(given, options);
  if (name == "tensor-split") return take_split(given, options);
  if (name == "override-tensor") return take_overrides(given, options);
  if (name == "program")
    options.program = value == "llama-server" ? Program::server : Program::other;
  if (name == "build") {
    const auto number = parse_u64(value.starts_with('b') ? value.substr(1) : value);
    if (!number) return wrong(given, "a build's number as in b4701");
    options.build = *number;
  }
  return Done{};
}

Result<ReadOptions> take_all(GivenOptions given) {
  ReadOptions read;
  for (const GivenOption& one : given.known) {
    switch (one.option->kind) {
      case Kind::text:
        HEADROOM_CHECK(take_text(one, read.options));
        break;
      case Kind::number:
        HEADROOM_CHECK(take_number(one, read.options));
        break;
      case Kind::yes:
      case Kind::no:
      case Kind::maybe:
        HEADROOM_CHECK(take_switch(one, read.options));
    }
  }
  read.unread = std::move(given.unread);
  return read;
}

}  // namespace

Result<ReadOptions> parse_options(const std::vector<std::string>& words) {
  HEADROOM_TRY(GivenOptions given, split_options(words, table));
  return take_all(std::move(given));
}

Result<ReadOptions> read_options(const Json& engine) {
  HEADROOM_TRY(GivenOptions given, split_options(engine, table));
  return take_all(std::move(given));
}

bool is_llama_command(const std::vector<std::string>& words) {
  if (words.empty()) return false;
  const std::string name = words.front().substr(words.front().rfind('/') + 1);
  return name.starts_with("llama-");
}

}  // namespace headroom::estimate::llama
