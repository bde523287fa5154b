// SPDX-License-Identifier: Apache-2.0
#include "report/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <tuple>
#include <vector>

#include "base/bytes.h"
#include "base/text.h"
#include "report/plan_words.h"

namespace headroom::report {
namespace {

using estimate::Plan;

constexpr std::size_t longest_bar = 40;
constexpr std::size_t beside_bar = 60;   // The columns of names and figures.
constexpr std::size_t shortest_bar = 5;  // A shorter one says nothing.
constexpr std::size_t beside_name = 23;  // The columns of figures, and the indentation.
constexpr std::size_t widest_name = 28;
constexpr std::size_t narrowest_name = 12;
constexpr std::size_t tensors_shown = 5;

// "3.10 G", "4.79 M": how many parameters.
std::string to_count(std::uint64_t number) {
  const auto amount = static_cast<double>(number);
  if (amount >= 1e9) return fmt::format("{:.2f} G", amount / 1e9);
  return amount >= 1e6 ? fmt::format("{:.2f} M", amount / 1e6) : fmt::format("{}", number);
}

std::string trained_of(const Plan& plan) {
  if (plan.job.method.kind == estimate::MethodKind::inference) return "";
  return fmt::format(", {} of them trained", plan.trainable_parameters == plan.parameters
                                                 ? "all"
                                                 : to_count(plan.trainable_parameters));
}

std::string settings_of(const Plan& plan) {
  const auto& compute = plan.job.compute;
  std::vector<std::string> words = {fmt::format("{} attention", to_string(*compute.attention))};
  if (plan.job.method.kind != estimate::MethodKind::inference) {
    const bool none = compute.checkpointing == estimate::Checkpointing::none;
    words.push_back(
        fmt::format("{} checkpointing", none ? "no" : to_string(compute.checkpointing)));
    if (compute.loss != estimate::Loss::eager)
      words.push_back(fmt::format("{} loss", to_string(compute.loss)));
    if (compute.liger.on) words.emplace_back("Liger's kernels");
    if (plan.job.optimizer.kind != estimate::OptimizerKind::adamw)
      words.emplace_back(to_string(plan.job.optimizer.kind));
    if (plan.job.optimizer.master != estimate::Master::none) words.emplace_back("fp32 masters");
    if (plan.job.optimizer.offload) words.emplace_back("offloaded optimizer");
    if (compute.activation_offloading) words.emplace_back("offloaded activations");
  }
  words.push_back(fmt::format("engine {}", to_string(plan.job.engine.kind)));
  if (plan.job.engine.stages > 1) words.push_back(fmt::format("{} stages", plan.job.engine.stages));
  return join(words, ", ");
}

std::string headline(const Plan& plan, const estimate::Architecture& model, const Style& style) {
  return fmt::format("{} in {}, {}{}\n{} layers, hidden size {}, {} parameters{}\n",
                     printable(model.family), to_string(plan.job.method.base), trainer_of(plan),
                     method_of(plan), model.main().layers, model.main().hidden,
                     to_count(plan.parameters), trained_of(plan)) +
         batch_of(plan, model) + "\n" + fold(settings_of(plan), "", style.width);
}

std::string verdict(const Plan& plan, const Style& style) {
  if (plan.verdict == estimate::Verdict::unknown) {
    return "The job gives no capacity, so headroom cannot say whether it fits. Add one:\n"
           "  --gpu \"RX 7900 XT\", --gpu auto for this machine's, or --capacity 16GiB\n"
           "  (in a job's file: [device] capacity = \"16GiB\")\n";
  }
  const Bytes capacity{*plan.capacity_bytes};
  const Bytes device{plan.device_bytes};
  const std::string amounts =
      fmt::format("{} of {}, {} to spare.\n", to_string(device), to_string(capacity),
                  to_string(saturating_sub(capacity, device)));
  switch (plan.verdict) {
    case estimate::Verdict::fits:
      return style.green("It fits:") + " " + amounts;
    case estimate::Verdict::borderline:
      return style.yellow("It fits, but barely:") + " " + amounts +
             "Above 90 % of a device, some runs finish and others do not. The prediction of "
             "allocated memory\nis good to a per cent. Other processes, batches of uneven length "
             "and fragmentation decide the\nrest.\n";
    default:
      if (!plan.host_fits)
        return style.red("It does not fit:") +
               fmt::format(
                   " what is offloaded needs {} of host memory, and device.host_capacity is {}.\n"
                   "Give it that much, if the machine has it free, or offload less: "
                   "optimizer.offload = false or\ncompute.activation_offloading = false.\n",
                   to_string(Bytes{plan.host.bytes}), to_string(*plan.job.device.host_capacity));
      return style.red("It does not fit:") + fmt::format(" it needs {}, and the device has {}.\n",
                                                         to_string(device), to_string(capacity));
  }
}

// In eighths of a character, so that a per cent of forty can be seen.
std::string bar(std::uint64_t bytes, std::uint64_t whole, std::size_t width) {
  if (width < shortest_bar) return "";
  constexpr std::array parts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double share = static_cast<double>(bytes) / static_cast<double>(whole);
  const auto eighths =
      static_cast<std::size_t>(std::lround(share * 8.0 * static_cast<double>(width)));
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  text += parts.at(eighths % 8);
  return text.empty() ? "▏" : text;
}

// A number with its unit, which stay together on one line.
std::string figure(const std::string& amount, std::size_t width) {
  return std::string(width - std::min(width, amount.size()), ' ') + keep_whole(amount);
}

std::string breakdown(const Plan& plan, const Style& style) {
  const std::size_t room = style.width - std::min(style.width, beside_bar);
  const std::size_t bar_width = std::min(longest_bar, room);
  const std::size_t names =
      std::clamp(style.width - std::min(style.width, beside_name), narrowest_name, widest_name);
  std::string text = fmt::format("\nAt the peak, in the {} phase:\n", to_string(plan.at));
  for (const auto component : allocator::all_components) {
    const std::uint64_t bytes = plan.components[component];
    if (bytes == 0) continue;
    const double share =
        100.0 * static_cast<double>(bytes) / static_cast<double>(plan.allocated_bytes);
    const std::string line = fmt::format(
        "  {:<{}}{}{}  {}", to_string(component), names, figure(to_string(Bytes{bytes}), 12),
        figure(fmt::format("{:.1f} %", share), 9), bar(bytes, plan.allocated_bytes, bar_width));
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  const auto total = [&text, names](const std::string& name, std::uint64_t bytes,
                                    std::string_view more) {
    fmt::format_to(std::back_inserter(text), "  {:<{}}{}{}\n", name, names,
                   figure(to_string(Bytes{bytes}), 12), more);
  };
  total("allocated", plan.allocated_bytes, "");
  total(fmt::format("reserved ({})", plan.job.device.allocator), plan.reserved_bytes, "");
  if (plan.host.bytes != 0) total("in host memory", plan.host.bytes, "");
  if (plan.context_bytes != 0)
    total("on the device", plan.device_bytes,
          fmt::format("  with the driver's context, {}", to_string(Bytes{plan.context_bytes})));
  return text;
}

// Of a model that is split, each rank.
std::string stages(const Plan& plan) {
  if (plan.stages.empty()) return "";
  std::string text = "\nThe layers are shared out over ranks, each of which takes at its peak:\n";
  for (const estimate::StagePlan& stage : plan.stages) {
    const auto& part = stage.part;
    std::string layers =
        part.layers() == 1 ? fmt::format("layer {}", part.first_layer)
                           : fmt::format("layers {} to {}", part.first_layer, part.last_layer - 1);
    if (part.is_first()) layers = "embedding, " + layers;
    if (part.is_last()) layers += ", head";
    text += fmt::format("  rank {}{}  {}{}\n", part.stage,
                        figure(to_string(Bytes{stage.device_bytes}), 12), layers,
                        stage.fits == false ? ": does not fit" : "");
  }
  return text + "What is said above of the peak is of the rank that takes most.\n";
}

std::string row(const estimate::TensorRecord& tensor) {
  std::vector<std::string> sizes;
  for (const auto size : tensor.meta.shape) sizes.push_back(std::to_string(size));
  return fmt::format("  {:>12}  {} [{}] {}\n", to_string(Bytes{tensor.meta.bytes()}), tensor.name,
                     join(sizes, " × "), to_string(tensor.meta.element));
}

std::string tensors(const Plan& plan) {
  std::string text = "\nThe largest tensors at that moment:\n";
  for (std::size_t i = 0; i < plan.largest.size() && i < tensors_shown; ++i)
    text += row(plan.largest[i]);
  if (plan.first_failure)
    text += "\nThe first tensor that does not fit:\n" + row(*plan.first_failure);
  return text;
}

std::string notes(const Plan& plan, const Style& style) {
  if (plan.notes.empty()) return "";
  std::string text = "\nAssumed:\n";
  for (const std::string& note : plan.notes) text += fold(printable(note), "  ", style.width);
  return text;
}

}  // namespace

std::string to_text(const Plan& plan, const estimate::Architecture& model, const Style& style,
                    const SettingWords& words) {
  return fit(headline(plan, model, style) + "\n" + verdict(plan, style) + breakdown(plan, style) +
                 stages(plan) + tensors(plan) + advice_text(plan, style.width, words) +
                 notes(plan, style),
             style.width);
}

}  // namespace headroom::report
