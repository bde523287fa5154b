// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_flags.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/text.h"
#include "machine/user_files.h"

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
constexpr const char* numbers_group = "A transformer by numbers, in place of --model";

constexpr std::array job_flags = {
    Flag{"--model", "model", Kind::text, "NAME|PATH",
         "A model by name (Qwen/Qwen2.5-3B), or a folder with its config.json"},
    Flag{"--method", "method.kind", Kind::text, "KIND", "full (default), lora, qlora, inference"},
    Flag{"--base", "method.base", Kind::text, "TYPE",
         "How the weights are held: bf16, nf4, int8, …"},
    Flag{"--rank", "method.rank", Kind::value, "N", "Of LoRA's adapters (8)"},
    Flag{"--targets", "method.targets", Kind::list, "LIST",
         "Where adapters go: q,k,v,o,gate,up,down"},
    Flag{"--dropout", "method.dropout", Kind::value, "P", "Of LoRA's input (0)"},
    Flag{"--dtype", "compute.dtype", Kind::text, "TYPE", "fp32, bf16 (default), fp16"},
    Flag{"--autocast", "compute.autocast", Kind::value, "BOOL",
         "Products in dtype whatever weights are held in (false)"},
    Flag{"--attention", "compute.attention", Kind::text, "KERNEL",
         "math, eager, sdpa-mask, efficient, flash (default: what the device has)"},
    Flag{"--checkpointing", "compute.checkpointing", Kind::text, "KIND",
         "none (default), selective, layer, auto"},
    Flag{"--loss", "compute.loss", Kind::text, "KIND",
         "eager (default), triton, fused-liger, chunked"},
    Flag{"--norm", "compute.norm", Kind::text, "KIND", "eager (default), fused"},
    Flag{"--optimizer", "optimizer.kind", Kind::text, "KIND",
         "adamw (default), adamw8bit, sgd, adafactor"},
    Flag{"--foreach", "optimizer.foreach", Kind::value, "BOOL", "All parameters at once (true)"},
    Flag{"--offload", "optimizer.offload", Kind::value, "BOOL", "States in host memory (false)"},
    Flag{"--batch", "batch.micro", Kind::value, "N|auto", "Samples at a time (1)"},
    Flag{"--sequence", "batch.sequence", Kind::value, "N", "Tokens of a sample (1024)"},
    Flag{"--accumulate", "batch.accumulate", Kind::value, "N|auto", "Micro-batches in a step (1)"},
    Flag{"--global", "batch.global", Kind::value, "N", "Samples in a step, however they are split"},
    Flag{"--prompt", "batch.prompt", Kind::value, "N", "Inference: tokens given"},
    Flag{"--generate", "batch.generate", Kind::value, "N", "Inference: tokens made after them"},
    Flag{"--engine", "engine.kind", Kind::text, "KIND", "transformers (default), headroom"},
    Flag{"--transformers", "engine.transformers", Kind::text, "VERSION", "4.48, … (the newest)"},
    Flag{"--torch", "engine.torch", Kind::text, "VERSION", "2.15, … (the newest)"},
    Flag{"--gpu", "device.gpu", Kind::text, "NAME|auto",
         "A card (\"MI50\", \"RX 7900 XT\"), or the GPU of this machine"},
    Flag{"--capacity", "device.capacity", Kind::text, "SIZE", "Memory of the device: 16GiB"},
    Flag{"--allocator", "device.allocator", Kind::text, "POLICY",
         "torch (default), torch-expandable, headroom"},
    Flag{"--context", "device.context", Kind::text, "SIZE", "What the driver takes for a process"},
};

constexpr std::array number_flags = {
    Flag{"--layers", "num_hidden_layers", Kind::value, "N", ""},
    Flag{"--hidden", "hidden_size", Kind::value, "N", ""},
    Flag{"--heads", "num_attention_heads", Kind::value, "N", ""},
    Flag{"--intermediate", "intermediate_size", Kind::value, "N", "Of the MLP (4 × hidden)"},
    Flag{"--vocabulary", "vocab_size", Kind::value, "N", "Where steps are tokens …"},
    Flag{"--features", "features", Kind::value, "N", "… or how many numbers a step has (1)"},
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
