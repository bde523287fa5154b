// SPDX-License-Identifier: Apache-2.0
#include "run/training_lines.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "run/log_words.h"
#include "run/training_dialects.h"
#include "run/training_settings.h"

namespace headroom::run {
namespace {

constexpr std::size_t longest_object = std::size_t{256} << 10U;
constexpr std::uint64_t most_arguments = 400;  // TrainingArguments has about 130.

// How the value stands in the line.
enum class How : std::uint8_t { count, word, fixed };

struct Rule {
  std::string_view mark;
  How how;
  std::string_view trainer, llama_factory;  // The names of the setting; empty: there is none.
  std::string_view value = {}, llama_factory_value = {};  // Of a fixed one.
};

constexpr std::array<Rule, 16> rules = {{
    {"Instantaneous batch size per device =", How::count, "per_device_train_batch_size",
     "per_device_train_batch_size"},
    {"Gradient Accumulation steps =", How::count, "gradient_accumulation_steps",
     "gradient_accumulation_steps"},
    // Unsloth's banner.
    {" Batch size per device =", How::count, "per_device_train_batch_size", ""},
    {"Gradient accumulation steps =", How::count, "gradient_accumulation_steps", ""},
    {"Gradient checkpointing enabled.", How::fixed, "gradient_checkpointing",
     "disable_gradient_checkpointing", "true", "false"},
    {"is incompatible with gradient checkpointing", How::fixed, "gradient_checkpointing",
     "disable_gradient_checkpointing", "true", "false"},
    {"Fine-tuning method:", How::word, "", "finetuning_type"},
    {"Quantizing model to", How::count, "", "quantization_bit"},
    {"Using FlashAttention-2 for", How::fixed, "attn_implementation", "flash_attn",
     "flash_attention_2", "fa2"},
    {"Using FlashAttention-3 for", How::fixed, "attn_implementation", "flash_attn",
     "flash_attention_3", "fa3"},
    {"Using torch SDPA for", How::fixed, "attn_implementation", "flash_attn", "sdpa", "sdpa"},
    {"Using vanilla attention implementation", How::fixed, "attn_implementation", "flash_attn",
     "eager", "disabled"},
    {"Pure bf16 / BAdam detected", How::fixed, "", "pure_bf16", "true", "true"},
    {"under default dtype torch.", How::word, "dtype", ""},
    {"Liger kernel has been applied", How::fixed, "use_liger_kernel", "enable_liger_kernel", "true",
     "true"},
    {"Upcasting layernorm weights in float32", How::fixed, "", "upcast_layernorm", "true", "true"},
}};

// "Gradient Accumulation steps =" as it is named in an answer.
std::string name_of(std::string_view mark) {
  mark = trim(mark);
  while (!mark.empty() && (mark.back() == '=' || mark.back() == ':' || mark.back() == '.'))
    mark = trim(mark.substr(0, mark.size() - 1));
  return std::string(mark);
}

std::string value_by(const Rule& rule, std::string_view text) {
  if (rule.how == How::fixed) return std::string(rule.value);
  if (rule.how == How::word) return word_behind(text, rule.mark);
  const auto count = count_behind(text, rule.mark);
  return count ? std::to_string(*count) : "";
}

// Python 3.12 and later print a member's name, "OptimizerNames.ADAMW_TORCH", earlier ones its
// value. Both differ in letters alone but for these.
std::string plain_value(const std::string& value) {
  constexpr std::string_view members = "OptimizerNames.";
  if (!value.starts_with(members)) return value;
  const std::string name = to_lower(value.substr(members.size()));
  return name == "adamw_bnb"     ? "adamw_bnb_8bit"
         : name == "paged_adamw" ? "paged_adamw_32bit"
                                 : name;
}

// "{'q_proj', 'v_proj'}" → "q_proj, v_proj"
std::string without_brackets(std::string text) {
  std::erase_if(
      text, [](char c) { return std::string_view("[]{}()'\"").find(c) != std::string_view::npos; });
  return text;
}

bool is_nothing(std::string_view value) {
  return value.empty() || value == "[]" || value == "{}";
}

}  // namespace

void PrintedObject::begin(std::uint64_t line) {
  text_.clear();
  line_ = line;
  depth_ = 0;
}

bool PrintedObject::take(std::string_view text) {
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_text = !in_text;
    } else if (!in_text && c == '{') {
      ++depth_;
    } else if (!in_text && c == '}' && depth_ > 0 && --depth_ == 0) {
      text_ += text.substr(0, i + 1);
      return true;
    }
  }
  text_ += text;
  text_ += '\n';
  if (text_.size() > longest_object) depth_ = 0;
  return false;
}

void TrainingLines::take(std::uint64_t line, std::string_view whole, std::string_view text) {
  if (whole.find("llamafactory.") != std::string_view::npos ||
      whole.find("llmtuner.") != std::string_view::npos)
    is_llama_factory = true;
  take_object(line, text);
  take_arguments(line, text);
  take_counts(line, whole);
  take_model(line, whole);
  take_rules(line, whole);
}

// "Model config LlamaConfig {" and, of Axolotl, "config:" with the object on the next line.
void TrainingLines::take_object(std::uint64_t line, std::string_view text) {
  std::string_view begun = text;
  if (!object_.is_open()) {
    const std::size_t mark = text.find("Model config ");
    const std::size_t brace = mark == std::string_view::npos ? mark : text.find('{', mark);
    object_is_axolotl_ = expects_axolotl_ && trim(text).starts_with('{');
    expects_axolotl_ = trim(text).ends_with("config:");
    if (brace == std::string_view::npos && !object_is_axolotl_) return;
    object_.begin(line);
    if (!object_is_axolotl_) begun.remove_prefix(brace);
  }
  if (!object_.take(begun)) return;
  (object_is_axolotl_ ? axolotl : config) = PrintedModel{object_.text(), object_.line()};
  seen_ = seen_ || object_is_axolotl_;
}

// "SFTConfig(" or "TrainingArguments(", then a line for each: "bf16=True,".
void TrainingLines::take_arguments(std::uint64_t line, std::string_view text) {
  const std::string_view bare = trim(text);
  if (bare.ends_with("Arguments(") || bare.ends_with("Config(")) {
    argument_lines_ = most_arguments;
    return;
  }
  if (argument_lines_ == 0) return;
  --argument_lines_;
  const std::size_t equals = bare.find('=');
  if (bare == ")" || equals == std::string_view::npos) {
    if (bare == ")") argument_lines_ = 0;
    return;
  }
  const std::string name(bare.substr(0, equals));
  if (!trainer_reads(name)) return;
  const auto value = value_of_key(bare, name);
  if (!value || is_nothing(*value)) return;
  settings.push_back({{name, {plain_value(*value)}, name, line}, {}, {}});
  seen_ = true;
}

void TrainingLines::take_counts(std::uint64_t line, std::string_view text) {
  const auto take = [&](std::string_view mark, std::optional<PrintedCount>& where) {
    if (const auto count = count_behind(text, mark)) where = PrintedCount{*count, line};
  };
  take("Number of trainable parameters =", trainable);
  take("Total train batch size (w. parallel, distributed & accumulation) =", total);
  if (text.find("|| all params:") != std::string_view::npos) {
    take("trainable params:", trainable);
    take("|| all params:", all);
  }
  // Unsloth: "Trainable parameters = 41,943,040 of 8,072,204,288 (0.52% trained)"
  take("Trainable parameters =", trainable);
  if (text.find("Unsloth") != std::string_view::npos) unsloth = PrintedCount{1, line};
  if (text.find(" half precision backend") != std::string_view::npos) half = PrintedCount{1, line};
  seen_ = seen_ || (trainable && trainable->line == line) || (total && total->line == line) ||
          text.find("***** Running training *****") != std::string_view::npos;
}

// "loading configuration file config.json from cache at …/models--org--name/snapshots/…"
void TrainingLines::take_model(std::uint64_t line, std::string_view text) {
  const bool loads = text.find("loading configuration file ") != std::string_view::npos ||
                     text.find("loading weights file ") != std::string_view::npos;
  if (!loads) return;
  const auto words = split_words(text);
  if (words.empty()) return;
  const std::string path(words.back());
  const std::size_t slash = path.rfind('/');
  const bool in_folder = slash != std::string::npos && slash > 0;
  std::string name = hub_name(path);
  if (name.empty() && in_folder) name = path.substr(0, slash);
  if (!name.empty()) named = PrintedModel{std::move(name), line};
}

void TrainingLines::take_rules(std::uint64_t line, std::string_view text) {
  for (const Rule& rule : rules) {
    if (text.find(rule.mark) == std::string_view::npos) continue;
    const std::string value = value_by(rule, text);
    if (value.empty()) continue;
    settings.push_back({{name_of(rule.mark), {value}, std::string(rule.trainer), line},
                        rule.llama_factory,
                        rule.llama_factory_value});
  }
  take_adapters(line, text);
  // "compute dtype: torch.bfloat16" is autocast to it.
  const std::string type = type_named(word_behind(text, "compute dtype: torch."));
  if (!type.empty() && type != "fp32")
    settings.push_back(
        {{"compute dtype", {"true"}, type, line}, type == "bf16" ? "bf16" : "fp16", {}});
}

// LLaMA-Factory's list of modules, and a LoraConfig that a script prints: "LoraConfig(r=16, …)".
void TrainingLines::take_adapters(std::uint64_t line, std::string_view text) {
  constexpr std::string_view found = "Found linear modules:";
  const std::size_t list = text.find(found);
  if (list != std::string_view::npos) {
    const std::string names(trim(text.substr(list + found.size())));
    settings.push_back(
        {{"Found linear modules", {names}, "lora_target_modules", line}, "lora_target", {}});
  }
  if (text.find("LoraConfig(") == std::string_view::npos) return;
  for (const auto& [key, name] : {std::pair("r", "lora_r"),
                                  {"lora_alpha", "lora_alpha"},
                                  {"lora_dropout", "lora_dropout"},
                                  {"target_modules", "lora_target_modules"},
                                  {"modules_to_save", "lora_modules_to_save"}}) {
    const auto value = value_of_key(text, key);
    if (value && !is_nothing(*value))
      settings.push_back({{key, {without_brackets(*value)}, name, line}, {}, {}});
  }
}

}  // namespace headroom::run
