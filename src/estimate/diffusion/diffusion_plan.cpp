// SPDX-License-Identifier: Apache-2.0
#include "estimate/diffusion/diffusion_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace headroom::estimate::diffusion {
namespace {

constexpr std::size_t shown_tensors = 10;
constexpr std::size_t shown_fittings = 5;
constexpr std::uint64_t lt_workspace_bytes = 1048576;  // cuBLASLt's, as for other models.

Kernel kernel_of(const Device& device) {
  if (device.attention == Attention::flash) return Kernel::flash;
  return device.attention == Attention::efficient ? Kernel::efficient : Kernel::math;
}

Hardware hardware_of(const Device& device) {
  Hardware hardware;
  hardware.kernel = kernel_of(device);
  const std::uint64_t workspace = device.blas_workspace.value;
  if (device.vendor == knowledge::Vendor::nvidia)
    hardware.of_products = {workspace, lt_workspace_bytes};
  else
    hardware.handle_workspace = workspace;
  return hardware;
}

// Records and replays settings on one device.
class Trial {
 public:
  Trial(const PipelineShape& shape, const Device& device, const std::string& allocator)
      : shape_(shape), device_(device), allocator_(allocator) {}

  bool has_range() const { return device_.vendor != knowledge::Vendor::nvidia; }

  Recording record(const Settings& settings, bool unfolds) const {
    Hardware hardware = hardware_of(device_);
    hardware.unfolds = unfolds;
    return record_pipeline(shape_, settings, hardware);
  }

  Result<Need> need(const Recording& recording) const {
    HEADROOM_TRY(const StagePeaks peaks, replay_stages(recording, allocator_));
    Need need{peaks.bytes, peaks.usage.live_peak_bytes, peaks.usage.reserved_peak_bytes, peaks.at};
    if (!device_.capacity) return need;
    HEADROOM_TRY(const StagePeaks within, replay_stages(recording, allocator_, room()));
    if (!within.failed) need.reserved_bytes = within.usage.reserved_peak_bytes;
    return need;
  }

  // What is left of the device beside the context; requires that its capacity is known.
  std::uint64_t room() const { return saturating_sub(*device_.capacity, device_.context).value; }
  Result<std::optional<std::uint32_t>> failure(const Recording& recording) const {
    HEADROOM_TRY(const StagePeaks peaks, replay_stages(recording, allocator_, room()));
    return peaks.failed;
  }
  Result<bool> holds(const Settings& settings) const {
    HEADROOM_TRY(const auto failed, failure(record(settings, has_range())));
    return !failed.has_value();
  }

 private:
  const PipelineShape& shape_;
  const Device& device_;
  const std::string& allocator_;
};

// A change that leaves the picture as it is, or nearly, and what it costs in time.
struct Change {
  const char* call;
  double cost;
  bool (*helps)(const DiffusionPlan& plan, const Device& device);
  void (*make)(Settings& settings);
};

bool upcasts(const DiffusionPlan& plan) {
  return plan.shape.kind == PipelineKind::sdxl && plan.shape.vae.force_upcast &&
         plan.settings.vae_upcast && plan.settings.dtype == DType::fp16;
}

// Fused kernels hold no scores, and slices would be made of plain products.
bool has_scores(const DiffusionPlan& plan, const Device& device) {
  const bool plain =
      device.attention == Attention::math || plan.settings.attention != AttentionChoice::sdpa;
  return plan.shape.unet && plain && plan.settings.slicing == Processor::sdpa;
}

constexpr std::array<Change, 8> changes = {{
    {"pipe.vae.enable_slicing()", 1,
     [](const DiffusionPlan& plan, const Device&) {
       return plan.settings.batch() > 1 && !plan.settings.vae_slicing;
     },
     [](Settings& settings) { settings.vae_slicing = true; }},
    {"pipe.vae.enable_tiling()", 2,
     [](const DiffusionPlan& plan, const Device&) {
       const Settings& s = plan.settings;
       const std::uint64_t side = std::max({s.height, s.width, plan.shape.default_side()});
       return !s.vae_tiling && side > plan.shape.vae.sample_size;
     },
     [](Settings& settings) { settings.vae_tiling = true; }},
    {"safety_checker=None", 3,
     [](const DiffusionPlan& plan, const Device&) {
       return plan.shape.checker && plan.settings.safety_checker;
     },
     [](Settings& settings) { settings.safety_checker = false; }},
    {"vae=AutoencoderKL.from_pretrained(\"madebyollin/sdxl-vae-fp16-fix\", "
     "torch_dtype=torch.float16)",
     4, [](const DiffusionPlan& plan, const Device&) { return upcasts(plan); },
     [](Settings& settings) { settings.vae_upcast = false; }},
    {"pipe.enable_attention_slicing()", 5, has_scores,
     [](Settings& settings) { settings.slicing = Processor::sliced_half; }},
    {"pipe.enable_attention_slicing(\"max\")", 6, has_scores,
     [](Settings& settings) { settings.slicing = Processor::sliced_one; }},
    {"pipe.enable_model_cpu_offload()", 8,
     [](const DiffusionPlan& plan, const Device&) {
       return plan.settings.offload == Offload::none;
     },
     [](Settings& settings) { settings.offload = Offload::model; }},
    {"pipe.enable_sequential_cpu_offload()", 64,
     [](const DiffusionPlan& plan, const Device&) {
       return plan.settings.offload != Offload::sequential;
     },
     [](Settings& settings) { settings.offload = Offload::sequential; }},
}};

class Search {
 public:
  Search(DiffusionPlan& plan, const Device& device, const Trial& trial)
      : plan_(plan), device_(device), trial_(trial) {}

  // All sets of changes, the cheapest first; none that holds more than one that fits already.
  Status run() {
    std::vector<std::uint32_t> sets;
    for (std::uint32_t set = 1; set < (1U << changes.size()); ++set)
      if (is_possible(set)) sets.push_back(set);
    std::stable_sort(sets.begin(), sets.end(),
                     [](std::uint32_t a, std::uint32_t b) { return cost(a) < cost(b); });
    std::vector<std::uint32_t> kept;
    for (const std::uint32_t set : sets) {
      if (kept.size() == shown_fittings) break;
      const bool holds_one = std::any_of(
          kept.begin(), kept.end(), [set](std::uint32_t small) { return (set & small) == small; });
      if (holds_one) continue;
      HEADROOM_TRY(const bool fits, keep(set));
      if (fits) kept.push_back(set);
    }
    return Done{};
  }

 private:
  static bool has(std::uint32_t set, std::size_t i) { return (set >> i & 1U) != 0; }
  static double cost(std::uint32_t set) {
    double sum = 0;
    for (std::size_t i = 0; i < changes.size(); ++i)
      if (has(set, i)) sum += changes[i].cost;
    return sum;
  }

  // Two ways of slicing attention, and two offloads, are no set.
  bool is_possible(std::uint32_t set) const {
    if ((has(set, 4) && has(set, 5)) || (has(set, 6) && has(set, 7))) return false;
    for (std::size_t i = 0; i < changes.size(); ++i)
      if (has(set, i) && !changes[i].helps(plan_, device_)) return false;
    return true;
  }

  Result<bool> keep(std::uint32_t set) {
    Fitting fitting;
    fitting.settings = plan_.settings;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (!has(set, i)) continue;
      changes[i].make(fitting.settings);
      fitting.calls.emplace_back(changes[i].call);
    }
    HEADROOM_TRY(const bool fits, trial_.holds(fitting.settings));
    if (!fits) return false;
    HEADROOM_TRY(fitting.least, trial_.need(trial_.record(fitting.settings, false)));
    HEADROOM_TRY(fitting.most, trial_.need(trial_.record(fitting.settings, trial_.has_range())));
    plan_.fitting.push_back(std::move(fitting));
    return true;
  }

  DiffusionPlan& plan_;
  const Device& device_;
  const Trial& trial_;
};

void note_attention(DiffusionPlan& plan, const Device& device) {
  if (!plan.shape.unet || plan.settings.attention != AttentionChoice::sdpa) return;
  if (device.attention == Attention::math)
    plan.notes.emplace_back(
        "PyTorch has no fused attention for this GPU, so that scaled_dot_product_attention makes "
        "all scores, in fp32: pipe.enable_attention_slicing() makes them in parts.");
  else if (plan.settings.slicing != Processor::sdpa)
    plan.notes.emplace_back(
        "This GPU has fused attention, which makes no scores at all: "
        "pipe.enable_attention_slicing() takes more memory here, and more time.");
}

void add_notes(DiffusionPlan& plan, const Device& device) {
  plan.notes.insert(plan.notes.end(), plan.shape.notes.begin(), plan.shape.notes.end());
  plan.notes.insert(plan.notes.end(), device.notes.begin(), device.notes.end());
  if (device.vendor == knowledge::Vendor::nvidia) {
    plan.notes.emplace_back("cuDNN's workspaces for convolutions are not counted.");
  } else {
    plan.notes.emplace_back(
        "A range because MIOpen chooses a kernel for each convolution when it first runs: the "
        "least is for kernels that need no workspace, the most for GemmFwdRest, which writes an "
        "image's input out once for each place of the kernel (ROCm/MIOpen, "
        "src/solver/conv/gemm.cpp). A Radeon PRO W7900 took 3 to 10 % more than the most to decode "
        "with such a VAE (invoke-ai/InvokeAI, pull request 9519).");
  }
  if (upcasts(plan))
    plan.notes.emplace_back(
        "This VAE decodes in fp32 (force_upcast), because its fp16 overflows: "
        "torch_dtype=torch.bfloat16, or a VAE mended for fp16 "
        "(madebyollin/sdxl-vae-fp16-fix), halves what decoding takes.");
  if (plan.shape.t5 && plan.settings.dtype == DType::fp16)
    plan.notes.emplace_back(
        "T5 keeps a third of its weights in fp32 where the rest is fp16; in bfloat16 it keeps "
        "none.");
  note_attention(plan, device);
}

}  // namespace

Result<DiffusionPlan> make_diffusion_plan(PipelineShape shape, const Settings& settings,
                                          const Device& device, const std::string& allocator) {
  HEADROOM_CHECK(check_settings(shape, settings));
  DiffusionPlan plan;
  plan.shape = std::move(shape);
  plan.settings = settings;
  plan.parts = part_sizes(plan.shape, settings);
  plan.context_bytes = device.context.value;
  const Trial trial(plan.shape, device, allocator);
  const Recording low = trial.record(settings, false);
  const Recording high = trial.record(settings, trial.has_range());
  HEADROOM_TRY(const StagePeaks peaks, replay_stages(low, allocator));
  for (const std::uint32_t tensor : peaks.live)
    if (plan.largest.size() < shown_tensors) plan.largest.push_back(low.describe(tensor));
  HEADROOM_TRY(plan.least, trial.need(low));
  HEADROOM_TRY(plan.most, trial.need(high));
  if (device.capacity) {
    plan.capacity_bytes = device.capacity->value;
    HEADROOM_TRY(const auto at_least, trial.failure(low));
    HEADROOM_TRY(const auto at_most, trial.failure(high));
    plan.fits = !at_least.has_value();
    plan.verdict = at_least ? Verdict::does_not_fit : at_most ? Verdict::borderline : Verdict::fits;
    if (at_least) plan.first_failure = low.describe(*at_least);
    if (at_most) HEADROOM_CHECK(Search(plan, device, trial).run());
  }
  add_notes(plan, device);
  return plan;
}

}  // namespace headroom::estimate::diffusion
