// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_llama.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/engine_answer.h"
#include "cli/present_gpu.h"
#include "estimate/llama_cpp/llama_plan.h"

namespace headroom::cli {
namespace {

using estimate::llama::Gpu;
using estimate::llama::Options;
using estimate::llama::SplitMode;

// As many as the options name, all like the one that the job describes.
std::vector<Gpu> gpus_of(const Options& options, const estimate::Device& device) {
  constexpr std::size_t gpus_max = 16;  // GGML_CUDA_MAX_DEVICES
  if (options.devices.size() == 1 && options.devices.front() == "none") return {};
  std::size_t count = std::max<std::size_t>(
      1, options.devices.empty() ? options.tensor_split.size() : options.devices.size());
  if (options.split_mode == SplitMode::none) count = 1;
  std::vector<Gpu> gpus;
  for (std::size_t i = 0; i < std::min(count, gpus_max); ++i) {
    Gpu gpu;
    gpu.name = i < options.devices.size() ? options.devices[i] : fmt::format("GPU {}", i);
    if (device.capacity) gpu.capacity_bytes = device.capacity->value;
    gpu.context_bytes = device.context.value;
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

int print_plan(estimate::llama::LlamaPlan& plan, const std::vector<std::string>& first,
               const estimate::Device& device, bool as_json, const Context& context) {
  plan.notes.insert(plan.notes.begin(), first.begin(), first.end());
  plan.notes.insert(plan.notes.end(), device.notes.begin(), device.notes.end());
  return print_engine_plan(plan, as_json, context);
}

}  // namespace

int plan_llama(run::LlamaJob job, const std::string& root, bool as_json, const Context& context) {
  const auto device = find_planned_device(job.device, root, context);
  if (!device) return print_error(context, device.error(), exit_usage);
  auto plan = estimate::llama::make_llama_plan(std::move(job.model), job.options,
                                               gpus_of(job.options, *device));
  if (!plan) return print_error(context, plan.error(), exit_usage);
  return print_plan(*plan, job.notes, *device, as_json, context);
}

int plan_ollama(run::OllamaJob job, const std::string& root, bool as_json, const Context& context) {
  run::LlamaJob& llama = job.llama;
  const auto device = find_planned_device(llama.device, root, context);
  if (!device) return print_error(context, device.error(), exit_usage);
  const std::uint64_t total = device->capacity ? device->capacity->value : 0;
  Options options =
      estimate::llama::to_llama_options(job.settings, llama.model, total, llama.notes);
  options.model = llama.options.model;
  std::vector<Gpu> gpus = gpus_of(options, *device);
  auto plan = estimate::llama::make_llama_plan(std::move(llama.model), options, std::move(gpus));
  if (!plan) return print_error(context, plan.error(), exit_usage);
  estimate::llama::say_as_ollama(job.name, *plan);
  return print_plan(*plan, llama.notes, *device, as_json, context);
}

}  // namespace headroom::cli
