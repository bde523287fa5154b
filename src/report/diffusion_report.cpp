// SPDX-License-Identifier: Apache-2.0
#include "report/diffusion_report.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/document.h"
#include "base/text.h"

namespace headroom::report {
namespace {

using estimate::Verdict;
using estimate::diffusion::all_stages;
using estimate::diffusion::DiffusionPlan;
using estimate::diffusion::Fitting;
using estimate::diffusion::Need;
using estimate::diffusion::Offload;
using estimate::diffusion::Settings;
using estimate::diffusion::Stage;

std::string size(std::uint64_t bytes) {
  return to_string(Bytes{bytes});
}

std::string range(std::uint64_t low, std::uint64_t high) {
  return low == high ? size(low) : fmt::format("{} to {}", size(low), size(high));
}

std::uint64_t side(std::uint64_t given, const DiffusionPlan& plan) {
  return given > 0 ? given : plan.shape.default_side();
}

const char* type_of(const Settings& settings) {
  switch (settings.dtype) {
    case estimate::DType::fp16:
      return "float16";
    case estimate::DType::bf16:
      return "bfloat16";
    default:
      return "float32";
  }
}

const char* words(Stage stage) {
  switch (stage) {
    case Stage::load:
      return "loading";
    case Stage::encode:
      return "encoding the prompt";
    case Stage::denoise:
      return "denoising";
    case Stage::decode:
      break;
  }
  return "VAE decode";
}

std::string headline(const DiffusionPlan& plan) {
  const Settings& settings = plan.settings;
  std::string text =
      fmt::format("{} ({}), torch.{}: {} of {}x{}{}\n", printable(plan.shape.name),
                  to_string(plan.shape.kind), type_of(settings),
                  settings.batch() == 1 ? "an image" : fmt::format("{} images", settings.batch()),
                  side(settings.width, plan), side(settings.height, plan),
                  plan.shape.flux     ? ""
                  : settings.guidance ? ", with guidance"
                                      : ", without guidance");
  if (settings.offload == Offload::model) text += "with enable_model_cpu_offload\n";
  if (settings.offload == Offload::sequential) text += "with enable_sequential_cpu_offload\n";
  return text;
}

std::string verdict(const DiffusionPlan& plan, const Style& style) {
  switch (plan.verdict) {
    case Verdict::fits:
      return style.green("It fits.") + "\n";
    case Verdict::borderline:
      return style.yellow("It may fit:") + " the kernels that MIOpen chooses decide.\n";
    case Verdict::does_not_fit:
      return style.red("It does not fit.") + "\n";
    default:
      return "headroom knows no capacity, so it cannot say whether it fits. Give --gpu or "
             "--capacity.\n";
  }
}

std::string lines_of(const std::vector<std::vector<std::string>>& cells, const Style& style) {
  std::string text;
  for (const TableLine& line :
       table(cells, {Align::left, Align::right, Align::left}, 2, style.width)) {
    const std::size_t end = line.text.find_last_not_of(' ');
    text += line.text.substr(0, end == std::string::npos ? 0 : end + 1) + "\n";
  }
  return text;
}

std::string stages(const DiffusionPlan& plan, const Style& style) {
  std::vector<std::vector<std::string>> cells;
  for (const Stage stage : all_stages) {
    const auto i = static_cast<std::size_t>(stage);
    if (plan.most.stages[i] == 0) continue;
    cells.push_back({words(stage), range(plan.least.stages[i], plan.most.stages[i]),
                     stage == plan.most.at ? "the peak" : ""});
  }
  cells.push_back(
      {"PyTorch reserves", range(plan.least.reserved_bytes, plan.most.reserved_bytes), ""});
  cells.push_back({"on the device", range(plan.device_low(), plan.device_high()),
                   plan.capacity_bytes ? "of " + size(*plan.capacity_bytes) : ""});
  return "\n" + lines_of(cells, style);
}

std::string parts(const DiffusionPlan& plan, const Style& style) {
  std::vector<std::vector<std::string>> cells;
  for (const auto& part : plan.parts)
    cells.push_back(
        {part.name, size(part.bytes),
         fmt::format("{:.2f} billion parameters", static_cast<double>(part.parameters) / 1e9)});
  return "\nWeights:\n" + lines_of(cells, style);
}

std::string fitting(const DiffusionPlan& plan, const Style& style) {
  std::string text;
  for (const Fitting& one : plan.fitting)
    text += fold(fmt::format("{} ({} on the device)", join(one.calls, ", "),
                             range(one.least.reserved_bytes + plan.context_bytes,
                                   one.most.reserved_bytes + plan.context_bytes)),
                 "  ", style.width);
  if (text.empty())
    return plan.fits && plan.verdict != Verdict::fits
               ? "\nNone of diffusers' settings would certainly fit. A smaller height and width "
                 "take less.\n"
               : "";
  return "\nWhat would certainly fit, the fastest first:\n" + text;
}

Json to_json(const Need& need) {
  Json stages = Json::object();
  for (const Stage stage : all_stages)
    stages[std::string(to_string(stage))] = need.stages[static_cast<std::size_t>(stage)];
  return {{"allocated_bytes", need.allocated_bytes},
          {"reserved_bytes", need.reserved_bytes},
          {"peak_at", std::string(to_string(need.at))},
          {"phases", stages}};
}

Json tensor_json(const estimate::TensorRecord& tensor) {
  return {{"name", tensor.name},
          {"bytes", tensor.meta.bytes()},
          {"type", std::string(to_string(tensor.meta.element))}};
}

}  // namespace

std::string to_text(const DiffusionPlan& plan, const Style& style) {
  std::string text = headline(plan) + "\n" + verdict(plan, style);
  if (plan.first_failure)
    text += fmt::format("First to fail: {} ({}).\n", plan.first_failure->name,
                        size(plan.first_failure->meta.bytes()));
  text += stages(plan, style) + parts(plan, style) + fitting(plan, style);
  if (!plan.notes.empty()) text += "\nAssumed:\n";
  for (const std::string& note : plan.notes) text += fold(printable(note), "  ", style.width);
  return fit(text, style.width);
}

Json to_json(const DiffusionPlan& plan) {
  const Settings& settings = plan.settings;
  Json json = {
      {"schema", "headroom.plan-diffusion/1"},
      {"model", plan.shape.name},
      {"pipeline", to_string(plan.shape.kind)},
      {"torch_dtype", type_of(settings)},
      {"height", side(settings.height, plan)},
      {"width", side(settings.width, plan)},
      {"images", settings.batch()},
      {"verdict", std::string(to_string(plan.verdict))},
      {"fits", plan.fits ? Json(*plan.fits) : Json(nullptr)},
      {"allocated_bytes", plan.least.allocated_bytes},
      {"least", to_json(plan.least)},
      {"most", to_json(plan.most)},
      {"context_bytes", plan.context_bytes},
      {"device_bytes", {{"low_bytes", plan.device_low()}, {"high_bytes", plan.device_high()}}},
      {"capacity_bytes", plan.capacity_bytes ? Json(*plan.capacity_bytes) : Json(nullptr)},
      {"components", Json::array()},
      {"largest", Json::array()},
      {"first_failure", plan.first_failure ? tensor_json(*plan.first_failure) : Json(nullptr)},
      {"fitting", Json::array()},
      {"notes", plan.notes},
      {"missing", Json::object()}};
  for (const auto& part : plan.parts)
    json["components"].push_back(
        {{"name", part.name}, {"parameters", part.parameters}, {"bytes", part.bytes}});
  for (const auto& tensor : plan.largest) json["largest"].push_back(tensor_json(tensor));
  for (const Fitting& one : plan.fitting)
    json["fitting"].push_back(
        {{"calls", one.calls}, {"least", to_json(one.least)}, {"most", to_json(one.most)}});
  if (!plan.capacity_bytes)
    for (const char* pointer : {"/fits", "/capacity_bytes"})
      json["missing"][pointer] = "no capacity is known: name a --gpu or a --capacity";
  if (!plan.first_failure)
    json["missing"]["/first_failure"] = "nothing fails, or no capacity is known";
  return json;
}

}  // namespace headroom::report
