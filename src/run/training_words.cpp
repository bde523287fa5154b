// SPDX-License-Identifier: Apache-2.0
#include "run/training_words.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "report/plan_advice.h"

namespace headroom::run {
namespace {

using estimate::Change;

// What a program calls its settings; empty: it has none.
struct Names {
  std::string_view micro, accumulate, sequence, rank;
  std::string_view checkpointing, no_checkpointing;  // The second is true where there is none.
  std::string_view attention, eager;                 // And its word for no kernel at all.
  std::string_view optimizer;
  std::string_view liger;
};

Names names_of(TrainingProgram program) {
  switch (program) {
    case TrainingProgram::axolotl:
      return {"micro_batch_size",
              "gradient_accumulation_steps",
              "sequence_len",
              "lora_r",
              "gradient_checkpointing",
              "",
              "attn_implementation",
              "eager",
              "optimizer",
              ""};
    case TrainingProgram::llama_factory:
      return {"per_device_train_batch_size",
              "gradient_accumulation_steps",
              "cutoff_len",
              "lora_rank",
              "",
              "disable_gradient_checkpointing",
              "flash_attn",
              "disabled",
              "optim",
              "enable_liger_kernel"};
    case TrainingProgram::torchtune:
      return {"batch_size",
              "gradient_accumulation_steps",
              "tokenizer.max_seq_len",
              "model.lora_rank",
              "enable_activation_checkpointing",
              "",
              "",
              "",
              "optimizer",
              ""};
    case TrainingProgram::script:
    case TrainingProgram::trl:
      break;
  }
  return {"per_device_train_batch_size",
          "gradient_accumulation_steps",
          "max_length",
          "lora_r",
          "gradient_checkpointing",
          "",
          "attn_implementation",
          "eager",
          "optim",
          "use_liger_kernel"};
}

class Writer {
 public:
  Writer(const Change& change, TrainingProgram program, bool in_recipe)
      : rest_(change),
        program_(program),
        names_(names_of(program)),
        // torchtune's tables are written in one line behind the recipe alone.
        in_recipe_(in_recipe && program != TrainingProgram::torchtune) {}

  std::string text() {
    number(rest_.micro, names_.micro);
    number(rest_.accumulate, names_.accumulate);
    number(rest_.sequence, names_.sequence);
    method();
    number(rest_.rank, names_.rank);
    checkpointing();
    kernels();
    optimizer();
    std::string text = join(words_, in_recipe_ ? ", " : " ");
    if (rest_ == Change{}) return text;
    return text + (text.empty() ? "" : " and ") + report::to_text(rest_);
  }

 private:
  void say(std::string_view name, std::string_view value) {
    words_.push_back(program_ == TrainingProgram::torchtune ? fmt::format("{}={}", name, value)
                     : in_recipe_                           ? fmt::format("{}: {}", name, value)
                                                            : fmt::format("--{} {}", name, value));
  }
  void number(std::optional<std::uint64_t>& value, std::string_view name) {
    if (value) say(name, std::to_string(*value));
    value.reset();
  }

  // Types that go with a method or with half precision follow from the program's own rules.
  void method() {
    const bool in_four_bits = rest_.base == estimate::WeightFormat::nf4;
    const bool adapters = rest_.method == estimate::MethodKind::lora ||
                          rest_.method == estimate::MethodKind::qlora || in_four_bits;
    const bool half = rest_.dtype == estimate::DType::bf16;
    if (!adapters && !half) return;
    if (adapters && program_ == TrainingProgram::torchtune) return;  // Another recipe and model.
    if (half) narrow();
    if (adapters) use_adapters(in_four_bits);
    rest_.method.reset();
    rest_.base.reset();
    rest_.dtype.reset();
    rest_.residual.reset();
    rest_.embeddings.reset();
    rest_.autocast.reset();
  }
  void narrow() {
    switch (program_) {
      case TrainingProgram::axolotl:
        return say("bf16", "true");
      case TrainingProgram::llama_factory:
        return say("pure_bf16", "true");
      case TrainingProgram::torchtune:
        return say("dtype", "bf16");
      case TrainingProgram::script:
      case TrainingProgram::trl:
        return say("dtype", "bfloat16");
    }
  }
  void use_adapters(bool in_four_bits) {
    switch (program_) {
      case TrainingProgram::axolotl:
        say("adapter", in_four_bits ? "qlora" : "lora");
        if (in_four_bits) say("load_in_4bit", "true");
        return;
      case TrainingProgram::llama_factory:
        say("finetuning_type", "lora");
        if (in_four_bits) say("quantization_bit", "4");
        return;
      case TrainingProgram::torchtune:
        return;
      case TrainingProgram::script:
      case TrainingProgram::trl:
        say("use_peft", "true");
        if (in_four_bits) say("load_in_4bit", "true");
    }
  }

  void checkpointing() {
    if (rest_.checkpointing != estimate::Checkpointing::layer &&
        rest_.checkpointing != estimate::Checkpointing::none)
      return;
    const bool on = rest_.checkpointing == estimate::Checkpointing::layer;
    if (!names_.checkpointing.empty()) say(names_.checkpointing, on ? "true" : "false");
    if (!names_.no_checkpointing.empty()) say(names_.no_checkpointing, on ? "false" : "true");
    rest_.checkpointing.reset();
  }

  // Liger's switch turns on its loss and its norm.
  void kernels() {
    if (rest_.loss == estimate::Loss::fused_liger && !names_.liger.empty()) {
      say(names_.liger, "true");
      rest_.loss.reset();
      if (rest_.norm == estimate::NormKernel::fused) rest_.norm.reset();
    }
    if (!rest_.attention || names_.attention.empty()) return;
    say(names_.attention, *rest_.attention == estimate::Attention::eager ? names_.eager : "sdpa");
    rest_.attention.reset();
  }

  void optimizer() {
    using estimate::OptimizerKind;
    if (!rest_.optimizer) return;
    if (program_ == TrainingProgram::torchtune) {
      if (*rest_.optimizer == OptimizerKind::adafactor) return;
      say(names_.optimizer, *rest_.optimizer == OptimizerKind::adamw8bit
                                ? "bitsandbytes.optim.AdamW8bit"
                            : *rest_.optimizer == OptimizerKind::sgd ? "torch.optim.SGD"
                                                                     : "torch.optim.AdamW");
      rest_.optimizer.reset();
      return;
    }
    say(names_.optimizer, *rest_.optimizer == OptimizerKind::adamw8bit   ? "adamw_8bit"
                          : *rest_.optimizer == OptimizerKind::adafactor ? "adafactor"
                          : *rest_.optimizer == OptimizerKind::sgd       ? "sgd"
                                                                         : "adamw_torch");
    rest_.optimizer.reset();
  }

  Change rest_;
  TrainingProgram program_;
  Names names_;
  bool in_recipe_;
  std::vector<std::string> words_;
};

}  // namespace

std::string to_words(const Change& change, TrainingProgram program, bool in_recipe) {
  return Writer(change, program, in_recipe).text();
}

}  // namespace headroom::run
