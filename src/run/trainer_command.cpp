// SPDX-License-Identifier: Apache-2.0
#include "run/trainer_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "run/model_files.h"

namespace headroom::run {
namespace {

enum class Kind : std::uint8_t { number, word, words, yes };
struct Argument {
  std::string_view name;  // Small letters and "_"; typed with "-" it is the same.
  std::string_view key;   // Of the job. Without a "." it is read together with others.
  Kind kind = Kind::number;
};
constexpr std::array<Argument, 21> arguments = {{
    {"model_name_or_path", "model", Kind::word},
    {"per_device_train_batch_size", "batch.micro"},
    {"gradient_accumulation_steps", "batch.accumulate"},
    {"max_seq_length", "batch.sequence"},
    {"max_length", "batch.sequence"},
    {"block_size", "batch.sequence"},
    {"model_max_length", "batch.sequence"},
    {"gradient_checkpointing", "checkpointing", Kind::yes},
    {"attn_implementation", "compute.attention", Kind::word},
    {"optim", "optimizer.kind", Kind::word},
    {"bf16", "bf16", Kind::yes},
    {"fp16", "fp16", Kind::yes},
    {"torch_dtype", "dtype", Kind::word},
    {"dtype", "dtype", Kind::word},
    {"use_peft", "use_peft", Kind::yes},
    {"use_lora", "use_peft", Kind::yes},
    {"lora_r", "method.rank"},
    {"lora_alpha", "method.alpha"},
    {"lora_target_modules", "method.targets", Kind::words},
    {"load_in_4bit", "load_in_4bit", Kind::yes},
    {"load_in_8bit", "load_in_8bit", Kind::yes},
}};

struct Given {
  std::string option;               // As it was typed, with its dashes.
  std::vector<std::string> values;  // Empty of a switch.
};

std::string bare_name(std::string_view option) {
  std::string name(option.substr(option.find_first_not_of('-')));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

bool is_option(std::string_view word) {
  return word.size() > 2 && word.starts_with("--") && word[2] != '-' && word[2] != '=';
}

// The first word behind the script, or behind the module of "-m".
std::optional<std::size_t> arguments_begin(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].ends_with(".py")) return i + 1;
    if (words[i] == "-m" && i + 1 < words.size() && !words[i + 1].starts_with("torch.") &&
        !words[i + 1].starts_with("accelerate."))
      return i + 2;
  }
  return std::nullopt;
}

std::vector<Given> split(const std::vector<std::string>& words, std::size_t from) {
  std::vector<Given> all;
  for (std::size_t i = from; i < words.size(); ++i) {
    if (is_option(words[i])) {
      const std::size_t equals = words[i].find('=');
      all.push_back({words[i].substr(0, equals), {}});
      if (equals != std::string::npos) all.back().values.push_back(words[i].substr(equals + 1));
    } else if (!all.empty()) {
      all.back().values.push_back(words[i]);
    }
  }
  return all;
}

Error wrong_value(const Given& given, std::string_view wanted) {
  const std::string found =
      given.values.empty() ? "none" : fmt::format("\"{}\"", join(given.values, " "));
  return {Errc::invalid, fmt::format("{}: expected {}, found {}", given.option, wanted, found),
          "write the command as the script takes it, behind headroom plan --"};
}

Result<Json> value_of(const Given& given, Kind kind) {
  if (kind == Kind::words) {
    if (given.values.empty()) return wrong_value(given, "names of modules");
    if (given.values.size() == 1 && given.values.front() == "all-linear") return Json("all-linear");
    return Json(given.values);
  }
  if (given.values.size() > 1) return wrong_value(given, "one value");
  if (kind == Kind::yes) {
    const std::string text = given.values.empty() ? "true" : to_lower(given.values.front());
    if (text == "true" || text == "1" || text == "yes") return Json(true);
    if (text == "false" || text == "0" || text == "no") return Json(false);
    return wrong_value(given, "True or False");
  }
  if (given.values.empty() || given.values.front().empty()) return wrong_value(given, "a value");
  const std::string& text = given.values.front();
  if (kind == Kind::word) return Json(text);
  std::uint64_t number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc() || end != text.data() + text.size())
    return wrong_value(given, "a whole number");
  return Json(number);
}

class Reader {
 public:
  Result<bool> read(const std::vector<Given>& all) {
    for (const Given& given : all) {
      const std::string name = bare_name(given.option);
      if (name.starts_with("fsdp") || name.starts_with("deepspeed"))
        return Error{Errc::invalid,
                     fmt::format("{}: expected a job on one card, found one that is spread over "
                                 "processes, which is not planned",
                                 given.option),
                     "leave the argument out to plan one card alone"};
      const auto known = std::find_if(arguments.begin(), arguments.end(),
                                      [&name](const Argument& one) { return one.name == name; });
      if (known == arguments.end()) {
        unread_.push_back(given.option);
        continue;
      }
      HEADROOM_TRY(Json value, value_of(given, known->kind));
      found_[std::string(known->key)] = {std::move(value), given.option};
    }
    return true;
  }

  Result<TrainerCommand> finish() {
    const auto model = found_.find("model");
    if (model == found_.end())
      return Error{Errc::invalid, "plan: expected --model_name_or_path in the command, found none",
                   "a model that the script names in its code: headroom plan --model NAME ..."};
    const std::string name = model->second.value.get<std::string>();
    const bool local = is_model(name) || name.starts_with('/') || name.starts_with('.');
    take(local ? "model.config" : "model.name", name, "model");
    for (const auto& [key, one] : found_)
      if (key.find('.') != std::string::npos) take(key, one.value, key);
    HEADROOM_TRY(const bool types, take_types());
    (void)types;
    take_method();
    if (is_set("checkpointing")) take("compute.checkpointing", "layer", "checkpointing");
    assume("compute.keep_outputs", true, "logits beside the loss, as Trainer returns them");
    if (!found_.contains("batch.micro"))
      assume("batch.micro", 8, "a micro-batch of 8, Trainer's default");
    if (!found_.contains("batch.sequence"))
      assume("batch.sequence", 1024, "1024 tokens: the command does not say how long samples are");
    if (!found_.contains("checkpointing"))
      assume("compute.checkpointing", "none",
             "no gradient checkpointing (recent releases of TRL have it on by default)");
    command_.notes.push_back(fmt::format("Taken from the command: {}.", join(taken_, ", ")));
    command_.notes.push_back(fmt::format("Assumed: {}.", join(assumed_, "; ")));
    if (!unread_.empty())
      command_.notes.push_back(fmt::format("Not read: {}.", join(unread_, ", ")));
    return std::move(command_);
  }

 private:
  struct Found {
    Json value;
    std::string option;
  };

  bool is_set(const std::string& key) const {
    const auto at = found_.find(key);
    return at != found_.end() && at->second.value == true;
  }
  void take(const std::string& key, const Json& value, const std::string& from) {
    const std::string& option = found_.at(from).option;
    command_.flags.set(key, value, option);
    taken_.push_back(fmt::format("{} = {} from {}", key, value.dump(), option));
  }
  void assume(const std::string& key, const Json& value, const std::string& words) {
    command_.flags.set(key, value, key);
    assumed_.push_back(words);
  }

  // Weights keep the type in which they are loaded; --bf16 and --fp16 are autocast over it.
  Result<bool> take_types() {
    std::string held = "fp32";
    if (const auto at = found_.find("dtype"); at != found_.end()) {
      static const std::map<std::string, std::string> names = {
          {"bfloat16", "bf16"}, {"bf16", "bf16"},    {"float16", "fp16"}, {"fp16", "fp16"},
          {"half", "fp16"},     {"float32", "fp32"}, {"fp32", "fp32"},    {"float", "fp32"}};
      const auto type = names.find(at->second.value.get<std::string>());
      if (type == names.end())
        return wrong_value({at->second.option, {at->second.value.get<std::string>()}},
                           "bfloat16, float16 or float32");
      held = type->second;
      taken_.push_back(fmt::format("weights in {} from {}", held, at->second.option));
    } else {
      assumed_.push_back(
          "what is not quantised in fp32, as transformers 4 loads it (5 as it was saved)");
    }
    const std::string cast = is_set("bf16") ? "bf16" : is_set("fp16") ? "fp16" : "";
    if (cast.empty() || cast == held) {
      command_.flags.set("compute.dtype", held, "dtype");
    } else {
      take("compute.autocast", true, cast);
      command_.flags.set("compute.dtype", cast, found_.at(cast).option);
    }
    if (!is_set("load_in_4bit") && !is_set("load_in_8bit"))
      command_.flags.set("method.base", held, "dtype");
    return true;
  }

  void take_method() {
    if (is_set("load_in_4bit")) {
      take("method.kind", "qlora", "load_in_4bit");
      take("method.base", "nf4", "load_in_4bit");
    } else if (is_set("load_in_8bit")) {
      take("method.kind", "qlora", "load_in_8bit");
      take("method.base", "int8", "load_in_8bit");
    } else if (is_set("use_peft")) {
      take("method.kind", "lora", "use_peft");
    } else {
      assume("method.kind", "full", "full fine-tuning, as --use_peft is not there");
      return;
    }
    if (!found_.contains("method.rank"))
      assume("method.rank", 16, "LoRA of rank 16, TRL's default");
    if (!found_.contains("method.targets"))
      assume("method.targets", Json::array({"q", "v"}),
             "adapters on q and v, as PEFT does for Llama's relatives");
  }

  std::map<std::string, Found> found_;  // By the key of `arguments`.
  std::vector<std::string> taken_, assumed_, unread_;
  TrainerCommand command_;
};

}  // namespace

Result<TrainerCommand> parse_trainer_command(const std::vector<std::string>& words) {
  const auto begin = arguments_begin(words);
  if (!begin)
    return Error{Errc::invalid, "plan: expected a Python script or -m MODULE in the command",
                 "headroom plan -- python train.py --model_name_or_path NAME ..."};
  Reader reader;
  HEADROOM_TRY(const bool read, reader.read(split(words, *begin)));
  (void)read;
  HEADROOM_TRY(TrainerCommand command, reader.finish());
  const auto script = words.begin() + static_cast<std::ptrdiff_t>(*begin);
  std::vector<std::string> launcher;
  for (const Given& given : split({words.begin(), script}, 0)) {
    const std::string name = bare_name(given.option);
    if (name == "use_fsdp" || name == "use_deepspeed")
      return Error{Errc::invalid,
                   fmt::format("{}: expected a job on one card, found one that is spread over "
                               "processes, which is not planned",
                               given.option),
                   "leave the argument out to plan one card alone"};
    launcher.push_back(given.option);
  }
  if (!launcher.empty())
    command.notes.push_back(fmt::format("Not read, the launcher's: {}.", join(launcher, ", ")));
  return command;
}

}  // namespace headroom::run
