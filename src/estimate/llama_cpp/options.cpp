// SPDX-License-Identifier: Apache-2.0
#include "estimate/llama_cpp/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/document.h"
#include "base/text.h"

namespace headroom::estimate::llama {
namespace {

enum class Kind : std::uint8_t { number, text, yes, no, maybe };

struct Option {
  std::string_view name;  // The long one, without its dashes: also the key of a job.
  std::string_view brief;
  std::string_view also;  // Another long one.
  Kind kind;
};

// `yes` and `no` take no value; `maybe` takes on, off or auto, and may stand alone.
constexpr std::array<Option, 32> table = {{
    {"model", "m", "", Kind::text},
    {"ctx-size", "c", "", Kind::number},
    {"batch-size", "b", "", Kind::number},
    {"ubatch-size", "ub", "", Kind::number},
    {"parallel", "np", "", Kind::number},
    {"kv-unified", "kvu", "", Kind::yes},
    {"no-kv-unified", "no-kvu", "", Kind::no},
    {"n-gpu-layers", "ngl", "gpu-layers", Kind::text},
    {"split-mode", "sm", "", Kind::text},
    {"tensor-split", "ts", "", Kind::text},
    {"main-gpu", "mg", "", Kind::number},
    {"device", "dev", "", Kind::text},
    {"flash-attn", "fa", "", Kind::maybe},
    {"cache-type-k", "ctk", "", Kind::text},
    {"cache-type-v", "ctv", "", Kind::text},
    {"swa-full", "", "", Kind::yes},
    {"kv-offload", "kvo", "", Kind::yes},
    {"no-kv-offload", "nkvo", "", Kind::no},
    {"op-offload", "", "", Kind::yes},
    {"no-op-offload", "nopo", "", Kind::no},
    {"mmap", "", "", Kind::yes},
    {"no-mmap", "", "", Kind::no},
    {"load-mode", "lm", "", Kind::text},
    {"embedding", "", "embeddings", Kind::yes},
    {"cpu-moe", "cmoe", "", Kind::yes},
    {"n-cpu-moe", "ncmoe", "", Kind::number},
    {"override-tensor", "ot", "", Kind::text},
    {"build", "", "", Kind::text},
    {"program", "", "", Kind::text},
    {"sequences", "ns", "", Kind::number},
    {"mlock", "", "", Kind::yes},
    {"fit", "", "", Kind::maybe},
}};

constexpr std::uint64_t number_max = std::uint64_t{1} << 32U;
constexpr std::uint64_t every_layer = std::uint64_t{1} << 32U;

const Option* find_option(std::string_view name, bool brief) {
  const auto* const found = std::find_if(table.begin(), table.end(), [&](const Option& one) {
    return !name.empty() && (one.name == name || one.also == name || (brief && one.brief == name));
  });
  return found == table.end() ? nullptr : &*found;
}

Error wrong(std::string_view spelled, std::string_view expected, std::string_view found) {
  return {Errc::invalid,
          fmt::format(
              "{}: expected {}, found {}", spelled, expected,
              found.empty() ? std::string("nothing") : fmt::format("\"{}\"", found.substr(0, 80))),
          "write it as llama-server --help shows"};
}

bool is_on(std::string_view word) {
  return word == "on" || word == "enabled" || word == "true" || word == "1";
}
bool is_off(std::string_view word) {
  return word == "off" || word == "disabled" || word == "false" || word == "0";
}
bool is_automatic(std::string_view word) {
  return word == "auto" || word == "-1";
}

class Reader {
 public:
  Result<bool> take(const Option& option, const std::string& value, const std::string& spelled) {
    read_.spelled[std::string(option.name)] = spelled;
    if (option.kind == Kind::number) {
      // -1 leaves the choice to the program.
      if (value == "-1") return true;
      const auto number = parse_u64(value);
      if (!number || *number > number_max) return wrong(spelled, "a whole number", value);
      return take_number(option.name, *number, spelled);
    }
    if (option.kind == Kind::text) return take_text(option.name, value, spelled);
    if (!value.empty() && !is_on(value) && !is_off(value) && !is_automatic(value))
      return wrong(spelled, "on, off or auto", value);
    take_switch(option, value);
    return true;
  }

  void leave(const std::string& word) { read_.unread.push_back(word); }

  ReadOptions finish() && { return std::move(read_); }

 private:
  Result<bool> take_number(std::string_view name, std::uint64_t number,
                           const std::string& spelled) {
    Options& options = read_.options;
    if (name == "ctx-size") options.context = number;
    if (name == "ubatch-size") options.ubatch = number;
    if (name == "main-gpu") options.main_gpu = number;
    if (name == "n-cpu-moe") options.cpu_moe_layers = number;
    if (name == "batch-size") {
      if (number == 0) return wrong(spelled, "a number above 0", "0");
      options.batch = number;
    }
    if (name == "parallel" || name == "sequences") {
      constexpr std::uint64_t sequences_max = 256;  // LLAMA_MAX_SEQ
      if (number == 0 || number > sequences_max)
        return wrong(spelled, "a number from 1 to 256", std::to_string(number));
      options.parallel = number;
    }
    return true;
  }

  void take_switch(const Option& option, std::string_view value) {
    Options& options = read_.options;
    const bool on = (option.kind == Kind::no) == is_off(value);
    if (option.name == "flash-attn") {
      options.flash_attention = is_automatic(value) ? Switch::automatic
                                : is_off(value)     ? Switch::off
                                                    : Switch::on;
    }
    if (option.name.ends_with("kv-unified")) options.kv_unified = on;
    if (option.name.ends_with("kv-offload")) options.kv_offload = on;
    if (option.name.ends_with("op-offload")) options.op_offload = on;
    if (option.name.ends_with("mmap")) options.mmap = on;
    if (option.name == "swa-full") options.swa_full = on;
    if (option.name == "embedding") options.embeddings = on;
    if (option.name == "cpu-moe" && on) options.cpu_moe_layers = every_layer;
  }

  Result<bool> take_text(std::string_view name, const std::string& value,
                         const std::string& spelled) {
    Options& options = read_.options;
    if (value.empty()) return wrong(spelled, "a value", value);
    if (name == "model") options.model = value;
    if (name == "cache-type-k") options.cache_type_k = value;
    if (name == "cache-type-v") options.cache_type_v = value;
    if (name == "device") options.devices = split_list(value);
    if (name == "load-mode")
      options.mmap = value.find("mmap") != std::string::npos || value == "auto";
    if (name == "n-gpu-layers") return take_layers(value, spelled);
    if (name == "split-mode") return take_mode(value, spelled);
    if (name == "tensor-split") return take_split(value, spelled);
    if (name == "override-tensor") return take_overrides(value, spelled);
    if (name == "program")
      options.program = value == "llama-server" ? Program::server : Program::other;
    if (name == "build") {
      const auto number = parse_u64(value.starts_with('b') ? value.substr(1) : value);
      if (!number) return wrong(spelled, "a build's number as in b4701", value);
      options.build = *number;
    }
    return true;
  }

  static std::vector<std::string> split_list(const std::string& value) {
    std::vector<std::string> words;
    for (const std::string_view word : split(value, ',')) words.emplace_back(trim(word));
    return words;
  }

  Result<bool> take_layers(const std::string& value, const std::string& spelled) {
    if (is_automatic(value) || value == "all" || value == "-2") return true;
    const auto number = parse_u64(value);
    if (!number) return wrong(spelled, "a number of layers, auto or all", value);
    read_.options.gpu_layers = *number;
    return true;
  }

  Result<bool> take_mode(const std::string& value, const std::string& spelled) {
    if (value == "tensor")
      return Error{
          Errc::unsupported,
          fmt::format("{}: expected none, layer or row, found tensor, which is not planned",
                      spelled),
          "plan it with --split-mode layer"};
    if (value != "none" && value != "layer" && value != "row")
      return wrong(spelled, "none, layer or row", value);
    read_.options.split_mode = value == "none"    ? SplitMode::none
                               : value == "layer" ? SplitMode::layer
                                                  : SplitMode::row;
    return true;
  }

  // "3,1" or "3/1".
  Result<bool> take_split(std::string value, const std::string& spelled) {
    std::replace(value.begin(), value.end(), '/', ',');
    std::vector<double> shares;
    double sum = 0;
    for (const std::string& word : split_list(value)) {
      const auto share = parse_double(word);
      if (!share || !(*share >= 0) || *share > 1e12 || shares.size() >= 128)
        return wrong(spelled, "a share for each GPU as in 3,1", value);
      shares.push_back(*share);
      sum += *share;
    }
    if (sum > 0) read_.options.tensor_split = std::move(shares);
    return true;
  }

  Result<bool> take_overrides(const std::string& value, const std::string& spelled) {
    for (const std::string& word : split_list(value)) {
      const std::size_t equals = word.rfind('=');
      if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
        return wrong(spelled, "PATTERN=BUFFER", word);
      read_.options.overrides.push_back({word.substr(0, equals), word.substr(equals + 1)});
    }
    return true;
  }

  ReadOptions read_;
};

bool takes_value(const Option& option, const std::vector<std::string>& words, std::size_t next) {
  if (option.kind == Kind::number || option.kind == Kind::text) return true;
  if (option.kind != Kind::maybe || next >= words.size()) return false;
  return is_on(words[next]) || is_off(words[next]) || is_automatic(words[next]);
}

std::string to_word(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (!value.is_array()) return value.dump();
  std::vector<std::string> words;
  for (const Json& one : value) words.push_back(to_word(one));
  return join(words, ",");
}

// LLAMA_ARG_CTX_SIZE is the option ctx-size; a few are shorter than their option.
const Option* find_variable(std::string_view key) {
  constexpr std::string_view prefix = "LLAMA_ARG_";
  if (!key.starts_with(prefix)) return nullptr;
  std::string name = to_lower(key.substr(prefix.size()));
  std::replace(name.begin(), name.end(), '_', '-');
  if (name == "batch") name = "batch-size";
  if (name == "ubatch") name = "ubatch-size";
  if (name == "n-parallel") name = "parallel";
  return find_option(name, false);
}

}  // namespace

Result<ReadOptions> parse_options(const std::vector<std::string>& words) {
  Reader reader;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with('-')) continue;  // The value of an option that is not known.
    std::string name = word.substr(word.starts_with("--") ? 2 : 1);
    std::replace(name.begin(), name.end(), '_', '-');
    const Option* option = find_option(name, true);
    // Of headroom's own, as no option of llama.cpp tells which build it is.
    if (name == "headroom-build") option = find_option("build", false);
    const bool is_key = option != nullptr && name != "headroom-build" &&
                        (option->name == "build" || option->name == "program");
    if (option == nullptr || is_key) {
      reader.leave(word);
      continue;
    }
    std::string value;
    if (takes_value(*option, words, i + 1)) {
      if (i + 1 >= words.size()) return wrong(word, "a value", "");
      value = words[++i];
    }
    HEADROOM_CHECK(reader.take(*option, value, word));
  }
  return std::move(reader).finish();
}

Result<ReadOptions> read_options(const Json& engine) {
  Reader reader;
  for (const auto& [key, value] : engine.items()) {
    if (key == "kind") continue;
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', '-');
    const Option* option = find_option(name, false);
    if (option == nullptr) option = find_variable(key);
    if (option == nullptr)
      return Error{Errc::invalid,
                   fmt::format("engine.{}: expected an option of llama-server by its long name, "
                               "found one that is not known",
                               key.substr(0, 80)),
                   "the keys that are read are listed in docs/plan.md", "engine"};
    HEADROOM_CHECK(reader.take(*option, to_word(value), "engine." + key));
  }
  return std::move(reader).finish();
}

bool is_llama_command(const std::vector<std::string>& words) {
  if (words.empty()) return false;
  const std::string name = words.front().substr(words.front().rfind('/') + 1);
  return name.starts_with("llama-");
}

}  // namespace headroom::estimate::llama
