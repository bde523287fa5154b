// SPDX-License-Identifier: Apache-2.0
#include "estimate/llama_cpp/llama_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/text.h"

namespace headroom::estimate::llama {
namespace {

constexpr std::uint64_t context_step = 256;

class Search {
 public:
  explicit Search(LlamaPlan& plan) : plan_(plan) {}

  Result<bool> run() {
    if (!plan_.fits || plan_.gpus.empty()) return true;
    HEADROOM_TRY(const bool context, find_context());
    if (*plan_.fits) return context;
    HEADROOM_TRY(const bool moved, find_experts());
    HEADROOM_TRY(const bool layers, find_layers());
    return context || moved || layers;
  }

 private:
  Result<bool> fits(const Options& options) {
    HEADROOM_TRY(tried_, measure(plan_.model, options, plan_.gpus));
    return tried_.fits(plan_.gpus).value_or(false);
  }

  void keep(std::string what, std::vector<std::string> arguments) {
    Fitting found{std::move(what), std::move(arguments), {}, tried_.host.total()};
    for (const Buffers& one : tried_.gpus) found.gpu_bytes.push_back(one.total());
    plan_.fitting.push_back(std::move(found));
  }

  // The largest number in [low, high] for which `options_of` fits, which must hold from there down.
  template <class OptionsOf>
  Result<std::optional<std::uint64_t>> largest(std::uint64_t low, std::uint64_t high,
                                               OptionsOf options_of) {
    HEADROOM_TRY(const bool any, fits(options_of(low)));
    if (!any) return std::optional<std::uint64_t>();
    while (low < high) {
      const std::uint64_t middle = low + (high - low + 1) / 2;
      HEADROOM_TRY(const bool good, fits(options_of(middle)));
      if (good)
        low = middle;
      else
        high = middle - 1;
    }
    HEADROOM_TRY(const bool again, fits(options_of(low)));  // So that tried_ is this one's.
    (void)again;
    return std::optional(low);
  }

  Result<bool> find_context() {
    const auto with = [&](std::uint64_t steps) {
      Options options = plan_.options;
      options.context = steps * context_step;
      return options;
    };
    const std::uint64_t most =
        std::max(plan_.model.trained_context, plan_.memory.context.context) / context_step;
    HEADROOM_TRY(const auto found, largest(1, std::max<std::uint64_t>(most, 1), with));
    if (!found) return false;
    keep("the largest context", {"-c", std::to_string(*found * context_step)});
    return true;
  }

  // Experts are read by few tokens each, so that they cost least on the host.
  Result<bool> find_experts() {
    const std::uint64_t layers = plan_.model.layers.size();
    if (plan_.model.experts == 0) return false;
    const auto with = [&](std::uint64_t kept) {
      Options options = plan_.options;
      options.cpu_moe_layers = layers - kept;
      return options;
    };
    HEADROOM_TRY(const auto found, largest(0, layers, with));
    if (!found) return false;
    keep("the fewest layers whose experts stay on the host",
         {"--n-cpu-moe", std::to_string(layers - *found)});
    return true;
  }

  Result<bool> find_layers() {
    const auto with = [&](std::uint64_t layers) {
      Options options = plan_.options;
      options.gpu_layers = layers;
      return options;
    };
    HEADROOM_TRY(const auto found, largest(0, plan_.memory.placement.gpu_layers, with));
    if (!found) return false;
    keep("the most layers on the GPU", {"-ngl", std::to_string(*found)});
    return true;
  }

  LlamaPlan& plan_;
  Memory tried_;
};

Verdict verdict_of(const LlamaPlan& plan) {
  if (!plan.fits) return Verdict::unknown;
  if (!*plan.fits) return Verdict::does_not_fit;
  for (std::size_t i = 0; i < plan.gpus.size(); ++i) {
    const double limit = borderline_from * static_cast<double>(*plan.gpus[i].capacity_bytes);
    if (static_cast<double>(plan.memory.gpus[i].total()) > limit) return Verdict::borderline;
  }
  return Verdict::fits;
}

// What the plan assumed, written out: a build's own defaults and its fitting change nothing then.
std::vector<std::string> arguments_of(const LlamaPlan& plan) {
  const Options& options = plan.options;
  const Memory& memory = plan.memory;
  std::vector<std::string> words;
  const auto add = [&words](std::string name, std::string value = "") {
    words.push_back(std::move(name));
    if (!value.empty()) words.push_back(std::move(value));
  };
  if (!options.model.empty()) add("-m", options.model);
  add("-ngl", std::to_string(memory.placement.gpu_layers));
  add("-c", std::to_string(memory.context.context));
  add("-np", std::to_string(memory.context.sequences));
  if (memory.context.sequences > 1 && memory.context.streams == 1) add("--kv-unified");
  add("-b", std::to_string(options.batch));
  add("-ub", std::to_string(options.ubatch));
  add("-fa", memory.context.flash ? "on" : "off");
  if (options.cache_type_k != "f16") add("-ctk", options.cache_type_k);
  if (options.cache_type_v != "f16") add("-ctv", options.cache_type_v);
  if (options.cpu_moe_layers > 0)
    add("--n-cpu-moe",
        std::to_string(std::min<std::uint64_t>(options.cpu_moe_layers, plan.model.layers.size())));
  for (const Override& one : options.overrides) add("-ot", one.pattern + "=" + one.buffer);
  if (options.swa_full) add("--swa-full");
  if (!options.kv_offload) add("--no-kv-offload");
  if (!options.mmap) add("--no-mmap");
  return words;
}

void add_notes(LlamaPlan& plan) {
  const auto note = [&plan](std::string text) { plan.notes.push_back(std::move(text)); };
  const Memory& memory = plan.memory;
  if (!plan.model.family.checked)
    note(
        fmt::format("Unproven: the compute buffers of the architecture \"{}\" were not checked "
                    "against llama.cpp; weights and caches follow from the file.",
                    plan.model.architecture));
  if (plan.model.has_recurrence())
    note(
        "Unproven: recurrent layers are counted by their states; their compute buffers are those "
        "of attention.");
  if (plan.options.split_mode == SplitMode::row)
    note(
        "Unproven: --split-mode row is planned as layer; the rows of large matrices are spread "
        "otherwise.");
  if (!plan.options.context)
    note(
        fmt::format("No -c was given: the model's own context, {} tokens, is planned. A build with "
                    "--fit would lower it where it does not fit.",
                    memory.context.context));
  if (!plan.options.parallel && memory.context.sequences > 1)
    note(fmt::format("No -np was given: {} slots share the context, as llama-server chooses.",
                     memory.context.sequences));
  if (memory.is_pipeline)
    note("Several GPUs hold the whole model and work as a pipeline: each input has four copies.");
  if (plan.options.mmap && memory.host.weights_bytes > 0)
    note(
        "The file is mapped: the host's share of the weights is page cache, which the kernel may "
        "drop and read again; --no-mmap takes it for good.");
  note(
      "Not counted: what kernels take while they run beyond the compute buffer (ggml's pool, "
      "rocBLAS's or cuBLAS's workspaces), as the load log does not show it.");
}

}  // namespace

Result<LlamaPlan> make_llama_plan(Model model, const Options& options, std::vector<Gpu> gpus) {
  LlamaPlan plan;
  plan.model = std::move(model);
  plan.options = options;
  plan.gpus = std::move(gpus);
  HEADROOM_TRY(plan.memory, measure(plan.model, plan.options, plan.gpus));
  plan.fits = plan.gpus.empty() ? std::nullopt : plan.memory.fits(plan.gpus);
  plan.verdict = verdict_of(plan);
  plan.arguments = arguments_of(plan);
  HEADROOM_CHECK(Search(plan).run());
  add_notes(plan);
  return plan;
}

}  // namespace headroom::estimate::llama
