// SPDX-License-Identifier: Apache-2.0
#include "report/plan_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/bytes.h"
#include "base/text.h"
#include "report/style.h"

namespace headroom::report {
namespace {

using estimate::Advice;
using estimate::Change;
using estimate::Plan;

std::string amount(std::uint64_t bytes) {
  return to_string(Bytes{bytes});
}

std::string quoted(std::string_view key, std::string_view value) {
  return fmt::format("{} = \"{}\"", key, value);
}

std::string kernel_cost(const Change& change) {
  std::vector<std::string> needs;
  if (change.loss == estimate::Loss::fused_liger) needs.emplace_back("Liger's loss");
  if (change.loss == estimate::Loss::triton) needs.emplace_back("a Triton loss (Unsloth)");
  if (change.norm == estimate::NormKernel::fused)
    needs.emplace_back("a fused norm (Liger, Unsloth)");
  return needs.empty() ? "" : "needs " + join(needs, " and ");
}

// In whose words, and how wide.
struct Form {
  const SettingWords& words;
  std::size_t width;
};

// One piece of advice: its figures, the settings, and below them what they cost.
void add_row(std::string& text, const Advice& advice, std::uint64_t capacity, const Form& form) {
  const std::string figures =
      fmt::format("  {:>10}  {:>10}  {:>5.0f} %   ", amount(advice.allocated_bytes),
                  amount(advice.device_bytes), 100.0 * advice.relative_speed);
  text +=
      fold(form.words ? form.words(advice.change) : to_text(advice.change), figures, form.width);
  auto costs = costs_of(advice);
  if (static_cast<double>(advice.device_bytes) >
      estimate::borderline_from * static_cast<double>(capacity))
    costs.emplace_back("a close fit");
  if (!costs.empty())
    text += fold(join(costs, "; "), std::string(display_width(figures), ' '), form.width);
}

void add_rows(std::string& text, const Plan& plan, bool changing, std::string_view title,
              const Form& form) {
  bool titled = false;
  for (const Advice& advice : plan.advice) {
    if (changes_result(advice.change) != changing) continue;
    if (!titled)
      fmt::format_to(std::back_inserter(text), "\n{}\n  {:>10}  {:>10}  {:>7}\n", title,
                     "allocated", "on device", "speed");
    titled = true;
    // headroom's own allocator does not fragment, so there is nothing close about it.
    const bool exact = plan.job.device.allocator == "headroom";
    add_row(text, advice, exact ? UINT64_MAX : plan.capacity_bytes.value_or(0), form);
  }
}

// Where only others stand in its way.
std::string would_fit_alone(const Plan& plan, std::size_t width) {
  const std::uint64_t whole = *plan.capacity_bytes + plan.held_bytes;
  if (plan.held_bytes == 0 || plan.device_bytes > whole) return "";
  return "\n" + fold(fmt::format("Others hold {} of this GPU's memory now. The job fits if they "
                                 "give it back: {} of {}. headroom reclaim says who they are.",
                                 amount(plan.held_bytes), amount(plan.device_bytes), amount(whole)),
                     "", width);
}

// Where no setting helps: what alone is too much, and what is left.
std::string hopeless(const Plan& plan, std::size_t width) {
  // The verdict says what helps where the device has room.
  if (!plan.host_fits && plan.device_bytes <= *plan.capacity_bytes) return "";
  const bool trains = plan.job.method.kind != estimate::MethodKind::inference;
  const std::uint64_t context = plan.context_bytes;
  const Bytes room = saturating_sub(Bytes{*plan.capacity_bytes}, Bytes{context});
  const bool full = plan.job.method.kind == estimate::MethodKind::full;
  const std::string_view lora =
      full ? "LoRA instead of full fine-tuning ([method] kind = \"lora\"), " : "";
  if (plan.weights_bytes > room.value) {
    return fmt::format(
        "\nThe model's weights alone do not fit: they take {}, and there is room for {}.\n"
        "Use a smaller model or a larger device.\n",
        amount(plan.weights_bytes), to_string(room));
  }
  std::string text;
  if (!plan.searched) {
    return "\nUse a smaller batch, a smaller model, or a larger device.\n";
  }
  if (trains && plan.training_state_bytes > room.value) {
    text = fmt::format(
        "The weights, gradients and optimizer states alone take {}, and there is room for {}.",
        amount(plan.training_state_bytes), to_string(room));
  } else {
    text = "It does not fit with any batch split, checkpointing, kernel, type or optimizer.";
  }
  return "\n" +
         fold(fmt::format("{} Use {}a smaller model, or a larger device.", text, lora), "", width);
}

std::string cards_text(const Plan& plan, std::size_t width) {
  if (plan.cards.empty()) return "";
  std::vector<std::string> cards;
  for (const auto& card : plan.cards)
    cards.push_back(fmt::format("{} ({} of {})", card.name, amount(card.device_bytes),
                                amount(card.capacity_bytes)));
  return "\nCards on which it fits unchanged, with 10 % to spare:\n" +
         fold(join(cards, ", ") + ".", "  ", width);
}

std::string largest_text(const Plan& plan, std::size_t width) {
  if (!plan.largest_fit) return "";
  const auto& found = *plan.largest_fit;
  const bool batch = found.quantity == estimate::Quantity::batch;
  const bool infers = plan.job.method.kind == estimate::MethodKind::inference;
  const std::string_view what = batch ? "micro-batch" : infers ? "prompt" : "sequence";
  if (found.value == 0)
    return fmt::format("\nNot even a {} of 1 fits with these settings.\n", what);
  const std::uint64_t own = batch    ? *plan.job.batch.micro
                            : infers ? plan.job.batch.prompt
                                     : plan.job.batch.sequence;
  const std::string_view surprise =
      plan.fits == false && found.value >= own
          ? " It is larger than the job's own, which does not fit. PyTorch's allocator may hold "
            "more memory for a smaller job, if freed blocks fit later requests less well."
          : "";
  return "\n" +
         fold(fmt::format("The {} {} that fits with these settings: {}{} ({} allocated, {} on "
                          "the device).{}",
                          batch ? "largest" : "longest", what, found.value, batch ? "" : " tokens",
                          amount(found.allocated_bytes), amount(found.device_bytes), surprise),
              "", width);
}

}  // namespace

std::vector<Setting> settings_of(const Change& change) {
  std::vector<Setting> settings;
  const auto add = [&settings](std::string_view table, std::string_view key, std::string value,
                               bool is_word) {
    settings.push_back({std::string(table), std::string(key), std::move(value), is_word});
  };
  const auto number = [&add](std::string_view table, std::string_view key, const auto& value) {
    if (value) add(table, key, fmt::format("{}", *value), false);
  };
  const auto word = [&add](std::string_view table, std::string_view key, const auto& value) {
    if (value) add(table, key, std::string(to_string(*value)), true);
  };
  number("batch", "micro", change.micro);
  number("batch", "accumulate", change.accumulate);
  number("batch", "sequence", change.sequence);
  word("method", "kind", change.method);
  word("method", "base", change.base);
  number("method", "rank", change.rank);
  word("compute", "dtype", change.dtype);
  word("compute", "checkpointing", change.checkpointing);
  word("compute", "attention", change.attention);
  word("compute", "loss", change.loss);
  if (change.norm)
    add("compute", "norm", *change.norm == estimate::NormKernel::fused ? "fused" : "eager", true);
  word("compute", "residual", change.residual);
  word("compute", "embeddings", change.embeddings);
  number("compute", "autocast", change.autocast);
  if (change.by_trainer && change.optimizer == estimate::OptimizerKind::adamw8bit)
    add("optimizer", "kind", "adamw_8bit", true);
  else
    word("optimizer", "kind", change.optimizer);
  number("optimizer", "foreach", change.foreach);
  number("optimizer", "offload", change.offload);
  return settings;
}

std::string to_text(const Change& change) {
  std::string text, table;
  for (const Setting& one : settings_of(change)) {
    if (one.table != table)
      text += fmt::format("{}[{}] ", text.empty() ? "" : " and ", one.table);
    else
      text += ", ";
    table = one.table;
    text += one.is_word ? quoted(one.key, one.value) : fmt::format("{} = {}", one.key, one.value);
  }
  return text;
}

std::vector<std::string> costs_of(const Advice& advice) {
  const Change& change = advice.change;
  const bool ours = advice.job.engine.kind == estimate::EngineKind::headroom;
  std::vector<std::string> costs;
  const auto add = [&costs](bool applies, std::string_view cost) {
    if (applies) costs.emplace_back(cost);
  };
  add(change.accumulate.value_or(1) > 1, "more passes for each step");
  add(change.micro && !change.accumulate, "fewer samples at a time");
  add(change.checkpointing == estimate::Checkpointing::layer, "every layer is computed twice");
  add(change.checkpointing == estimate::Checkpointing::selective,
      ours ? "norms and activations are computed twice" : "attention is computed twice");
  if (const std::string kernels = kernel_cost(change); !kernels.empty()) costs.push_back(kernels);
  add(change.loss == estimate::Loss::chunked, "the loss is computed in pieces");
  add(change.foreach == false, "the optimizer goes through the parameters one by one");
  add(change.offload == true, "optimizer states in host memory; each step waits for the CPU");
  add(change.optimizer == estimate::OptimizerKind::adamw8bit,
      "moments in 8 bits (bitsandbytes): nearly AdamW");
  add(change.optimizer == estimate::OptimizerKind::adafactor,
      "another optimizer, with one moment per row and column");
  add(change.dtype.has_value(), "weights and sums in half precision");
  add(change.rank.has_value(), "smaller adapters can learn less");
  add(change.sequence.has_value(), "longer samples are cut");
  add(change.method == estimate::MethodKind::lora, "only adapters are trained");
  add(change.method == estimate::MethodKind::qlora,
      "only adapters are trained, on weights in 4 bits");
  add(change.base && !plain_type(*change.base) && !change.method, "weights in 4 bits");
  return costs;
}

std::string advice_text(const Plan& plan, std::size_t width, const SettingWords& words) {
  const Form form{words, width};
  std::string text;
  if (plan.fits == false) {
    const bool infers = plan.job.method.kind == estimate::MethodKind::inference;
    add_rows(text, plan, false,
             infers ? "Settings that fit and give the same answers, fastest first:"
                    : "Settings that fit and train the same way, fastest first:",
             form);
    add_rows(text, plan, true,
             infers ? "Settings that fit but change the answers:"
                    : "Settings that fit but change the training:",
             form);
    const std::string alone = would_fit_alone(plan, width);
    text = alone + text;
    if (plan.advice.empty() && alone.empty()) text += hopeless(plan, width);
  } else {
    add_rows(text, plan, false, "Settings that fit and are faster:", form);
    if (plan.searched && plan.advice.empty())
      text += "\nheadroom found no faster settings that fit and train the same way.\n";
  }
  if (!plan.advice.empty())
    text += fold(
        "Speed is relative to the given job. It is calculated from matrix products, memory traffic "
        "and the host's work, not measured.",
        "  ", width);
  return text + largest_text(plan, width) + cards_text(plan, width);
}

}  // namespace headroom::report
