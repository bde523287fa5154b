// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "machine/user_files.h"
#include "report/plan_advice.h"
#include "report/style.h"

namespace headroom::cli {
namespace {

enum class Kind { text, value, list };

struct Flag {
  const char* flag;
  const char* key;  // Of the job; of the config for a model by numbers.
  Kind kind;
  const char* type;
  const char* help;
};

constexpr const char* job_group = "The job, or what differs from its file";
constexpr const char* numbers_group = "A transformer by numbers, instead of --model";

constexpr std::array job_flags = {
    Flag{"--model", "model", Kind::text, "NAME|PATH",
         "A model by name (Qwen/Qwen2.5-3B), or a folder with its config.json"},
    Flag{"--method", "method.kind", Kind::text, "full|lora|qlora|inference",
         "What is trained (default: full)"},
    Flag{"--base", "method.base", Kind::text, "TYPE",
         "The type of the base model's weights: bf16, nf4, int8, ..."},
    Flag{"--rank", "method.rank", Kind::value, "N", "The rank of LoRA's adapters (default: 8)"},
    Flag{"--targets", "method.targets", Kind::list, "LIST",
         "The layers that get adapters: q,k,v,o,gate,up,down"},
    Flag{"--dropout", "method.dropout", Kind::value, "P",
         "The dropout of LoRA's input (default: 0)"},
    Flag{"--dtype", "compute.dtype", Kind::text, "fp32|bf16|fp16",
         "The type of the computation (default: bf16)"},
    Flag{"--autocast", "compute.autocast", Kind::value, "true|false",
         "Compute in --dtype whatever type the weights have (default: false)"},
    Flag{"--attention", "compute.attention", Kind::text, "math|eager|sdpa-mask|efficient|flash",
         "The attention kernel (default: the best that the device has)"},
    Flag{"--checkpointing", "compute.checkpointing", Kind::text, "none|selective|layer|auto",
         "Which intermediate results are computed again instead of kept (default: none)"},
    Flag{"--loss", "compute.loss", Kind::text, "eager|triton|fused-liger|chunked|linear-chunks",
         "How the loss is computed (default: eager)"},
    Flag{"--norm", "compute.norm", Kind::text, "eager|fused",
         "How norms are computed (default: eager)"},
    Flag{"--optimizer", "optimizer.kind", Kind::text, "adamw|adamw8bit|sgd|adafactor",
         "The optimizer (default: adamw)"},
    Flag{"--foreach", "optimizer.foreach", Kind::value, "true|false",
         "Update all parameters at once (default: true)"},
    Flag{"--offload", "optimizer.offload", Kind::value, "true|false",
         "Keep the optimizer's state in host memory (default: false)"},
    Flag{"--batch", "batch.micro", Kind::value, "N|auto",
         "Samples that are computed at once, the micro-batch (default: 1)"},
    Flag{"--sequence", "batch.sequence", Kind::value, "N", "Tokens in a sample (default: 1024)"},
    Flag{"--accumulate", "batch.accumulate", Kind::value, "N|auto",
         "Micro-batches in a step (default: 1)"},
    Flag{"--global", "batch.global", Kind::value, "N", "Samples in a step, however they are split"},
    Flag{"--prompt", "batch.prompt", Kind::value, "N", "Inference: tokens of the prompt"},
    Flag{"--generate", "batch.generate", Kind::value, "N",
         "Inference: tokens generated after the prompt"},
    Flag{"--engine", "engine.kind", Kind::text, "transformers|headroom",
         "The program that trains (default: transformers)"},
    Flag{"--transformers", "engine.transformers", Kind::text, "VERSION",
         "The version of transformers, such as 4.48 (default: the newest known)"},
    Flag{"--torch", "engine.torch", Kind::text, "VERSION",
         "The version of PyTorch, such as 2.15 (default: the newest known)"},
    Flag{"--gpu", "device.gpu", Kind::text, "NAME|auto",
         "A card (\"MI50\", \"RX 7900 XT\"); auto: the GPU of this machine"},
    Flag{"--capacity", "device.capacity", Kind::text, "SIZE",
         "The memory of the device, such as 16GiB"},
    Flag{"--allocator", "device.allocator", Kind::text, "torch|torch-expandable|headroom",
         "The allocator of the job (default: torch)"},
    Flag{"--context", "device.context", Kind::text, "SIZE",
         "The memory that the driver takes for a process"},
};

constexpr std::array number_flags = {
    Flag{"--layers", "num_hidden_layers", Kind::value, "N", "The number of layers"},
    Flag{"--hidden", "hidden_size", Kind::value, "N", "The width of a layer"},
    Flag{"--heads", "num_attention_heads", Kind::value, "N", "The number of attention heads"},
    Flag{"--intermediate", "intermediate_size", Kind::value, "N",
         "The width of the MLP (default: 4 times --hidden)"},
    Flag{"--vocabulary", "vocab_size", Kind::value, "N",
         "The number of tokens, if the input is tokens"},
    Flag{"--features", "features", Kind::value, "N",
         "How many numbers each position has, if it is not (default: 1)"},
};

const Flag& flag_at(std::size_t index) {
  return index < job_flags.size() ? job_flags.at(index) : number_flags.at(index - job_flags.size());
}

// Numbers and truth values as such; whatever else is for the job's own rules to judge.
Json to_value(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (const auto whole = parse_i64(text)) return *whole;
  if (const auto real = parse_double(text)) return *real;
  return text;
}

Json to_json(const Flag& flag, const std::string& text) {
  if (flag.kind == Kind::text) return text;
  if (flag.kind == Kind::value) return to_value(text);
  Json list = Json::array();
  for (const std::string_view word : split(text, ',')) list.push_back(std::string(trim(word)));
  return list;
}

// A name of the table, or a place: what looks like a path, or is one.
bool is_path(const std::string& model) {
  if (model.starts_with('.') || model.starts_with('/')) return true;
  for (const std::string_view end : {".json", ".gguf", ".onnx", ".safetensors"}) {
    if (model.ends_with(end)) return true;
  }
  return machine::read_file(model + "/config.json").has_value();
}

}  // namespace

void PlanFlags::add_to(CLI::App& command) {
  for (std::size_t i = 0; i < job_flags.size() + number_flags.size(); ++i) {
    const Flag& flag = flag_at(i);
    Given& given = given_.emplace_back(Given{i, "", nullptr});
    CLI::Option* option = command.add_option(flag.flag, given.text, flag.help);
    given.option = option;
    option->type_name(flag.type)->group(i < job_flags.size() ? job_group : numbers_group);
  }
}

const std::string& PlanFlags::text_of(std::string_view flag) const {
  static const std::string none;
  for (const Given& given : given_) {
    if (flag_at(given.flag).flag == flag) return given.text;
  }
  return none;
}

void PlanFlags::add_model_by_numbers(run::JobFlags& flags) const {
  Json config = {{"model_type", "transformer"}};
  for (const Flag& flag : number_flags) {
    if (const std::string& text = text_of(flag.flag); !text.empty())
      config[flag.key] = to_value(text);
  }
  if (config.size() == 1) return;
  if (!config.contains("vocab_size") && !config.contains("features")) config["features"] = 1;
  flags.set("model.config", std::move(config), "--layers");
}

std::string PlanFlags::to_words(const estimate::Change& change) {
  std::vector<std::string> words;
  for (const report::Setting& one : report::settings_of(change)) {
    const std::string key = one.table + "." + one.key;
    const auto flag = std::find_if(job_flags.begin(), job_flags.end(),
                                   [&](const Flag& known) { return known.key == key; });
    if (flag == job_flags.end()) return report::to_text(change);
    words.push_back(report::keep_whole(fmt::format("{} {}", flag->flag, one.value)));
  }
  return join(words, " ");
}

Result<run::JobFlags> PlanFlags::read() const {
  run::JobFlags flags;
  for (const Given& given : given_) {
    // A script's --capacity "$UNSET" is no answer.
    if (given.text.empty() && given.option->count() > 0)
      return Error{
          Errc::invalid,
          fmt::format("plan: {}: expected a value, found nothing", flag_at(given.flag).flag),
          "give it one, or leave it out"};
  }
  add_model_by_numbers(flags);
  for (const Given& given : given_) {
    if (given.text.empty() || given.flag >= job_flags.size()) continue;
    const Flag& flag = flag_at(given.flag);
    if (std::string_view(flag.key) != "model") {
      flags.set(flag.key, to_json(flag, given.text), flag.flag);
      continue;
    }
    if (!flags.empty())
      return Error{Errc::invalid,
                   fmt::format("plan: expected --model or a transformer by numbers, found both "
                               "(--model {})",
                               given.text),
                   "leave --model out, or --layers, --hidden and the like"};
    flags.set(is_path(given.text) ? "model.config" : "model.name", given.text, flag.flag);
  }
  return flags;
}

}  // namespace headroom::cli
