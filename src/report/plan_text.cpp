// SPDX-License-Identifier: Apache-2.0
#include "report/plan_text.h"

#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "base/bytes.h"
#include "base/text.h"

namespace headroom::report {
namespace {

using estimate::Plan;

std::string method_of(const Plan& plan) {
  const auto& method = plan.job.method;
  if (method.kind == estimate::MethodKind::full) return "full fine-tuning";
  std::vector<std::string> targets;
  for (const auto target : method.targets) targets.emplace_back(to_string(target));
  return fmt::format("LoRA of rank {} on {}", method.rank, join(targets, " "));
}

// "3.10 G", "4.79 M": how many parameters.
std::string to_count(std::uint64_t number) {
  const auto amount = static_cast<double>(number);
  if (amount >= 1e9) return fmt::format("{:.2f} G", amount / 1e9);
  return amount >= 1e6 ? fmt::format("{:.2f} M", amount / 1e6) : fmt::format("{}", number);
}

std::string headline(const Plan& plan, const estimate::Architecture& model) {
  const auto& [compute, batch] = std::tie(plan.job.compute, plan.job.batch);
  return fmt::format(
      "{} in {}, {}\n"
      "{} layers, hidden size {}, {} parameters, {} of them trained\n"
      "micro-batch {} × {} tokens, accumulated {} ×, {} attention, {} checkpointing, engine {}\n",
      model.family, to_string(plan.job.method.base), method_of(plan), model.main().layers,
      model.main().hidden, to_count(plan.parameters),
      plan.trainable_parameters == plan.parameters ? "all" : to_count(plan.trainable_parameters),
      *batch.micro, batch.sequence, *batch.accumulate, to_string(*compute.attention),
      compute.checkpointing == estimate::Checkpointing::none ? "no" : "layer",
      to_string(plan.job.engine.kind));
}

std::string verdict(const Plan& plan) {
  if (!plan.fits) {
    return "Whether it fits is open, as the job names no capacity. To know, add to it:\n"
           "  [device] capacity = \"16GiB\"\n";
  }
  const Bytes capacity{*plan.capacity_bytes};
  const Bytes device{plan.device_bytes};
  if (*plan.fits) {
    return fmt::format("It fits: {} of {}, {} to spare.\n", to_string(device), to_string(capacity),
                       to_string(saturating_sub(capacity, device)));
  }
  return fmt::format("It does not fit: it needs {}, and the device has {}.\n", to_string(device),
                     to_string(capacity));
}

void add_row(std::string& text, std::string_view name, std::uint64_t bytes, std::uint64_t whole) {
  fmt::format_to(std::back_inserter(text), "  {:<38}{:>12}{:>7.1f} %\n", name,
                 to_string(Bytes{bytes}),
                 100.0 * static_cast<double>(bytes) / static_cast<double>(whole));
}

std::string breakdown(const Plan& plan) {
  std::string text = fmt::format("\nAt the peak, in the {} phase:\n", to_string(plan.at));
  for (const auto component : allocator::all_components) {
    const std::uint64_t bytes = plan.components[component];
    if (bytes > 0) add_row(text, to_string(component), bytes, plan.allocated_bytes);
  }
  const auto total = [&text](const std::string& name, std::uint64_t bytes) {
    fmt::format_to(std::back_inserter(text), "  {:<38}{:>12}\n", name, to_string(Bytes{bytes}));
  };
  total("allocated", plan.allocated_bytes);
  total(fmt::format("reserved by allocator {}", plan.job.device.allocator), plan.reserved_bytes);
  if (plan.device_bytes != plan.reserved_bytes)
    total("on the device, with the driver's context", plan.device_bytes);
  return text;
}

std::string row(const estimate::TensorRecord& tensor) {
  std::vector<std::string> sizes;
  for (const auto size : tensor.meta.shape) sizes.push_back(std::to_string(size));
  return fmt::format("  {:>12}  {} [{}] {}\n", to_string(Bytes{tensor.meta.bytes()}), tensor.name,
                     join(sizes, " × "), to_string(tensor.meta.element));
}

// Where no setting that keeps the training as it is helps: what alone is too much, and what is
// left.
std::string hopeless(const Plan& plan) {
  const bool full = plan.job.method.kind == estimate::MethodKind::full;
  const std::uint64_t context = plan.device_bytes - plan.reserved_bytes;
  const Bytes room = saturating_sub(Bytes{*plan.capacity_bytes}, Bytes{context});
  const std::string_view lora =
      full ? "LoRA in place of full fine-tuning ([method] kind = \"lora\"), " : "";
  if (plan.weights_bytes > room.value) {
    return fmt::format(
        "\nNot even the model's weights fit: they take {}, and there is room for {}.\n"
        "What is left: a smaller model, or a larger device.\n",
        to_string(Bytes{plan.weights_bytes}), to_string(room));
  }
  if (plan.training_state_bytes > room.value) {
    return fmt::format(
        "\nThe weights, gradients and optimizer states alone take {}, and there is room for {}.\n"
        "What is left: {}a smaller model, or a larger device.\n",
        to_string(Bytes{plan.training_state_bytes}), to_string(room), lora);
  }
  return fmt::format(
      "\nNo micro-batch, checkpointing or kernel makes it fit.\n"
      "What is left: a sequence shorter than {}, {}a smaller model, or a larger device.\n",
      plan.job.batch.sequence, lora);
}

std::string advice_of(const Plan& plan) {
  if (plan.fits != false) return "";
  std::string text = "\nThe first tensor that does not fit:\n" + row(*plan.first_failure);
  if (plan.advice.empty()) return text + hopeless(plan);
  text += "\nWhat would fit, fastest first (speed by arithmetic alone):\n";
  for (const auto& line : plan.advice) {
    fmt::format_to(std::back_inserter(text), "  {:>12}  {:>4.0f} % speed  {}\n",
                   to_string(Bytes{line.allocated_bytes}), 100.0 * line.relative_speed,
                   to_text(line.change));
  }
  return text;
}

}  // namespace

std::string to_text(const estimate::Change& change) {
  std::vector<std::string> batch;
  if (change.micro) batch.push_back(fmt::format("micro = {}", *change.micro));
  if (change.accumulate) batch.push_back(fmt::format("accumulate = {}", *change.accumulate));
  std::vector<std::string> compute;
  const auto set = [&compute](std::string_view key, std::string_view value) {
    compute.push_back(fmt::format("{} = \"{}\"", key, value));
  };
  if (change.checkpointing) set("checkpointing", to_string(*change.checkpointing));
  if (change.attention) set("attention", to_string(*change.attention));
  if (change.loss) set("loss", to_string(*change.loss));
  std::vector<std::string> tables;
  if (!batch.empty()) tables.push_back("[batch] " + join(batch, ", "));
  if (!compute.empty()) tables.push_back("[compute] " + join(compute, ", "));
  return join(tables, " and ");
}

std::string to_text(const Plan& plan, const estimate::Architecture& model) {
  std::string text = headline(plan, model) + "\n" + verdict(plan) + breakdown(plan);
  text += "\nThe largest tensors of that moment:\n";
  for (std::size_t i = 0; i < plan.largest.size() && i < 5; ++i) text += row(plan.largest[i]);
  return text + advice_of(plan);
}

}  // namespace headroom::report
