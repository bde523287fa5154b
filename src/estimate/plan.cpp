// SPDX-License-Identifier: Apache-2.0
#include "estimate/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "allocator/backend.h"
#include "allocator/models/make_policy.h"
#include "base/bytes.h"
#include "base/require.h"
#include "estimate/models/parameters.h"
#include "estimate/plan_notes.h"
#include "estimate/search.h"
#include "estimate/setting_estimate.h"
#include "estimate/steady_reserved.h"
#include "estimate/step.h"
#include "estimate/transformers/engine.h"
#include "estimate/transformers/image_size.h"
#include "knowledge/cards.h"

namespace headroom::estimate {
namespace {

constexpr std::size_t largest_max = 10;
// A recording of more tensors than this (many experts) is not made again for every setting.
constexpr std::size_t searched_tensors_max = 150000;
constexpr std::size_t cards_max = 3;

struct Replays {
  Recording recording;
  Peak unhindered;             // With plentiful memory.
  std::optional<Peak> capped;  // Within the capacity, if there is one.

  std::optional<std::uint64_t> steady_bytes;  // Where it met the capacity, and went on.

  bool host_fits = true;  // Within device.host_capacity.

  bool fits() const { return capped && !capped->failed && host_fits; }
  std::uint64_t reserved_bytes() const {
    if (steady_bytes) return std::max(*steady_bytes, unhindered.usage.live_peak_bytes);
    return (fits() ? *capped : unhindered).usage.reserved_peak_bytes;
  }
};

// Requires: there is a capacity.
Result<Peak> replay_capped(const Job& job, const Device& device, const Recording& recording) {
  require(device.capacity.has_value(), "a replay within a capacity has one");
  const Bytes left = saturating_sub(*device.capacity, device.context);
  HEADROOM_TRY(auto policy, allocator::make_policy(job.device.allocator, left.value));
  return replay(recording, *policy);
}

Result<Replays> run(const Job& job, const Architecture& model, const Device& device) {
  Replays replays;
  HEADROOM_TRY(replays.recording, record_step(job, model, device));
  const std::uint64_t host = round_up(replays.recording.host.bytes, allocator::page_bytes);
  replays.host_fits = !job.device.host_capacity || host <= job.device.host_capacity->value;
  HEADROOM_TRY(auto policy, allocator::make_policy(job.device.allocator));
  replays.unhindered = replay(replays.recording, *policy);
  if (!device.capacity) return replays;
  const Bytes room = saturating_sub(*device.capacity, device.context);
  if (!replays.unhindered.failed && replays.unhindered.usage.reserved_peak_bytes <= room.value) {
    replays.capped = replays.unhindered;  // It never meets its capacity.
    return replays;
  }
  HEADROOM_TRY(replays.capped, replay_capped(job, device, replays.recording));
  if (replays.fits()) {
    HEADROOM_TRY(auto again, allocator::make_policy(job.device.allocator, room.value));
    replays.steady_bytes = steady_reserved_bytes(replays.recording, *again);
  }
  return replays;
}

// Of the parts that the job does not train, where the model has such.
std::uint64_t frozen_parameters(const Architecture& model, const Job::Method& method) {
  if (method.kind != MethodKind::full) return 0;
  if (!model.projector) {
    std::uint64_t frozen = 0;
    for (const Stack& stack : model.stacks) {
      if (stack.positions == Positions::sinusoidal) frozen += stack.position_rows * stack.hidden;
      if (stack.input.waveform && method.freeze_feature_encoder)
        frozen += convolution_parameters(*stack.input.waveform);
    }
    return frozen;
  }
  const std::uint64_t tower = parameter_count(model.stacks.front());
  const std::uint64_t projector = parameter_count(*model.projector);
  const std::uint64_t language = parameter_count(model) - tower - projector;
  return (method.freeze_vision_tower ? tower : 0) + (method.freeze_projector ? projector : 0) +
         (method.freeze_language_model ? language : 0);
}

// Weights as the model has them, not as they are held: quantised ones are packed.
void count_parameters(const Recording& recording, const Architecture& model, Plan& plan) {
  const MethodKind kind = plan.job.method.kind;
  const bool has_adapters = kind == MethodKind::lora || kind == MethodKind::qlora;
  std::uint64_t held = 0;
  std::uint64_t adapters = 0;
  std::uint64_t trainable_bytes = 0;
  for (const RecordedTensor& tensor : recording.tensors) {
    const bool base = tensor.component == Component::weights;
    if (!base && tensor.component != Component::adapters) continue;
    plan.weights_bytes += tensor.meta.bytes();
    (base ? held : adapters) += tensor.meta.elements();
    if (kind != MethodKind::inference && base != has_adapters)
      trainable_bytes += tensor.meta.bytes();
  }
  const std::uint64_t own = model.graph ? held : parameter_count(as_run(model, plan.job));
  plan.parameters = own + adapters;
  const std::uint64_t frozen = frozen_parameters(model, plan.job.method);
  if (kind != MethodKind::inference)
    plan.trainable_parameters = has_adapters ? adapters : own - frozen;
  trainable_bytes -=
      std::min(trainable_bytes,
               frozen * size_of(plain_type(plan.job.method.base).value_or(plan.job.compute.dtype)));
  // AdamW holds two moments in the parameter's own type.
  plan.training_state_bytes = plan.weights_bytes + 3 * trainable_bytes;
}

Verdict verdict_of(const Plan& plan) {
  if (!plan.fits) return Verdict::unknown;
  if (!*plan.fits) return Verdict::does_not_fit;
  const auto limit = borderline_from * static_cast<double>(*plan.capacity_bytes);
  return static_cast<double>(plan.device_bytes) > limit ? Verdict::borderline : Verdict::fits;
}

Plan describe(const Job& job, const Architecture& model, const Device& device,
              const Replays& replays) {
  const Peak& peak = replays.unhindered;
  Plan plan;
  plan.job = job;
  plan.allocated_bytes = peak.usage.live_peak_bytes;
  plan.reserved_bytes = replays.reserved_bytes();
  plan.context_bytes = device.context.value;
  plan.device_bytes = plan.reserved_bytes + device.context.value;
  plan.host = replays.recording.host;
  plan.host_fits = replays.host_fits;
  plan.at = peak.at;
  plan.phases = peak.phases;
  plan.components = peak.usage.live_at_peak;
  if (device.capacity) {
    plan.capacity_bytes = device.capacity->value;
    plan.held_bytes = device.held.value;
    plan.fits = replays.fits();
    if (replays.capped->failed)
      plan.first_failure = replays.recording.describe(*replays.capped->failed);
  }
  plan.verdict = verdict_of(plan);
  for (std::size_t i = 0; i < std::min(largest_max, peak.live.size()); ++i) {
    plan.largest.push_back(replays.recording.describe(peak.live[i]));
  }
  count_parameters(replays.recording, model, plan);
  return plan;
}

// For a job beyond every device (allocator/models/make_policy.h), of which there is nothing to be
// said.
Error too_large(const TensorRecord& tensor) {
  const std::string found = tensor.meta.bytes() > allocator::unlimited_capacity_bytes
                                ? fmt::format("one whose tensor {} alone is larger", tensor.name)
                                : fmt::format("one in which {} of {} no longer fits", tensor.name,
                                              to_string(Bytes{tensor.meta.bytes()}));
  return {Errc::unsupported,
          fmt::format("expected a job of at most {}, found {}",
                      to_string(Bytes{allocator::unlimited_capacity_bytes}), found),
          "lower batch.micro or batch.sequence, or correct the model's shape"};
}

// Where a search was asked for and is not made.
void note_no_search(const Asked& asked, const Device& device, bool too_long, Plan& plan) {
  if ((asked.settings || asked.largest) && !device.capacity)
    plan.notes.emplace_back(
        "Nothing was searched for, as no capacity is known: name a --gpu or a "
        "--capacity.");
  if (too_long && device.capacity && (plan.fits == false || asked.settings || asked.largest))
    plan.notes.emplace_back(
        "Other settings were not searched: a step of this many experts takes too long to plan "
        "again and again. checkpointing = \"layer\" and a smaller micro help first.");
}

// Settings of which each plan would take long.
void note_passed_over(const Search& found, Plan& plan) {
  if (found.passed_over == 0) return;
  plan.notes.push_back(fmt::format(
      "Adapters and quantised weights were not searched: {} experts that are planned one by one "
      "take too long to plan again and again. Plan them by themselves to see what they take.",
      found.passed_over));
}

// PyTorch's allocator may hold more for a smaller job (docs/plan.md): who has seen that one's plan
// should not take this one's for a mistake.
Status note_smaller_batch(const Job& job, const Architecture& model, const Device& device,
                          Plan& plan) {
  constexpr double worth_saying = 1.01;
  if (*job.batch.micro < 2 || !job.device.allocator.starts_with("torch")) return Done{};
  Job smaller = job;
  --*smaller.batch.micro;
  HEADROOM_TRY(const Replays replays, run(smaller, model, device));
  const std::uint64_t bytes = replays.reserved_bytes();
  if (static_cast<double>(bytes) < worth_saying * static_cast<double>(plan.reserved_bytes))
    return Done{};
  plan.notes.push_back(fmt::format(
      "PyTorch's allocator would reserve more for a micro-batch of {}: {}. The tensors of "
      "that one are smaller, but its freed blocks fit what is asked for later less well.",
      *smaller.batch.micro, to_string(Bytes{bytes})));
  return Done{};
}

// What a sequence has at least: its images.
std::uint64_t tokens_of_images(const Job& job, const Architecture& model) {
  const std::uint64_t images = job.batch.images_per_sample;
  return images == 0 ? 1 : std::max<std::uint64_t>(1, images * image_tokens(model, job));
}

// A question about tokens that the input does not have.
bool has_tokens(const Architecture& model) {
  if (model.graph || model.stacks.empty()) return false;
  const Input::Kind kind = model.main().input.kind;
  return kind == Input::Kind::tokens || kind == Input::Kind::numbers;
}

// What "auto" was taken for where no capacity decides.
void note_choices(const Job& given, const Device& device, Plan& plan) {
  if (device.capacity) return;
  if (given.compute.checkpointing == Checkpointing::automatic)
    plan.notes.emplace_back(
        "compute.checkpointing = \"auto\": no capacity is known, so none is taken.");
  if (!given.batch.micro && !given.batch.global)
    plan.notes.emplace_back("batch.micro = \"auto\": no capacity is known, so 1 is taken.");
}

// Of a model that is split over stages: each of them, and the parameters of all.
Status add_stages(const Job& job, const Architecture& model, const Device& device, Plan& plan) {
  if (job.engine.stages == 1) return Done{};
  HEADROOM_TRY(const ModelConfig decoder, decoder_config(model));
  HEADROOM_TRY(plan.stages, plan_stages(job, decoder, device));
  std::uint64_t adapters = 0;
  for (const StagePlan& stage : plan.stages) adapters += stage.adapters;
  plan.parameters = decoder.parameters() + adapters;
  plan.trainable_parameters = adapters > 0 ? adapters : plan.parameters;
  return Done{};
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::unknown:
      return "unknown";
    case Verdict::fits:
      return "fits";
    case Verdict::borderline:
      return "borderline";
    case Verdict::does_not_fit:
      return "does-not-fit";
  }
  return "unknown";
}

TryJob make_trial(const Architecture& model, const Device& device) {
  return [&model, &device](const Job& job) -> Result<Fit> {
    if (!device.capacity) return Fit{};
    HEADROOM_TRY(const Replays replays, run(job, model, device));
    return Fit{replays.fits(), replays.unhindered.usage.live_peak_bytes,
               replays.reserved_bytes() + device.context.value};
  };
}

Result<std::vector<FittingCard>> find_cards(const Job& job, const Architecture& model) {
  HEADROOM_TRY(std::vector<knowledge::Card> cards, knowledge::load_cards());
  const auto rank = [](const knowledge::Card& card) {
    return std::tuple(card.vendor, card.kind, card.vram);
  };
  std::stable_sort(cards.begin(), cards.end(),
                   [&rank](const auto& a, const auto& b) { return rank(a) < rank(b); });
  std::vector<FittingCard> fitting;
  // Cards of the same kernels and workspaces need the same; what is live is a lower bound.
  std::map<std::tuple<Attention, knowledge::Vendor, std::uint64_t>, std::uint64_t> needs;
  for (const knowledge::Card& card : cards) {
    if (fitting.size() >= cards_max) break;
    HEADROOM_TRY(const Device device, device_of(job, card));
    if (job.compute.attention && !has_kernel(device, *job.compute.attention)) continue;
    Job on_card = job;
    on_card.compute.attention = attention_for(job, device);
    const auto [need, is_new] =
        needs.try_emplace({*on_card.compute.attention, card.vendor, device.blas_workspace.value});
    if (is_new) {
      HEADROOM_TRY(SettingEstimator estimator, SettingEstimator::make(on_card, model, device));
      HEADROOM_TRY(const SettingEstimate seen, estimator.at(on_card));
      need->second = seen.allocated_bytes;
    }
    const auto most =
        static_cast<std::uint64_t>(borderline_from * static_cast<double>(card.vram.value));
    if (saturating_sub(Bytes{most}, device.context).value < need->second) continue;
    HEADROOM_TRY(const Fit fit, make_trial(model, device)(on_card));
    if (fit.fits && fit.device_bytes <= most)
      fitting.push_back({card.name, card.vram.value, fit.device_bytes});
  }
  return fitting;
}

Result<Plan> make_plan(const Job& given, const Architecture& model, const Device& device,
                       const Asked& asked) {
  const TryJob try_job = make_trial(model, device);
  Job job = given;
  job.compute.attention = attention_for(given, device);
  HEADROOM_TRY(job, choose_automatic(std::move(job), model, device, try_job));
  HEADROOM_TRY(const Replays replays, run(job, model, device));
  if (replays.unhindered.failed)
    return too_large(replays.recording.describe(*replays.unhindered.failed));
  Plan plan = describe(job, model, device, replays);
  HEADROOM_CHECK(add_stages(job, model, device, plan));
  Job open = job;  // Which kernel it takes may depend on the device and on other settings.
  open.compute.attention = given.compute.attention;
  plan.notes = model.notes;
  plan.notes.insert(plan.notes.end(), device.notes.begin(), device.notes.end());
  note_choices(given, device, plan);
  note_model(given, job, model, device, plan);
  const bool too_long = replays.recording.tensors.size() > searched_tensors_max;
  note_no_search(asked, device, too_long, plan);
  if (!too_long) HEADROOM_CHECK(note_smaller_batch(job, model, device, plan));
  // Of a graph nothing is known that could be varied.
  plan.searched =
      !model.graph && !too_long && (plan.fits == false || (asked.settings && plan.fits));
  if (plan.searched) {
    HEADROOM_TRY(Search found, find_settings(open, model, device, try_job, *plan.fits));
    plan.advice = std::move(found.advice);
    for (Advice& advice : plan.advice)
      advice.change = written_out(advice.change, given, job, model);
    note_passed_over(found, plan);
  }
  if (plan.searched && plan.fits == false && job.engine.kind == EngineKind::transformers) {
    HEADROOM_TRY(plan.cards, find_cards(open, model));
  }
  const bool counts_tokens = asked.largest == Quantity::sequence;
  if (counts_tokens && !has_tokens(model))
    plan.notes.emplace_back("A longest sequence was not looked for: the input has one size.");
  else if (asked.largest && device.capacity && !too_long)
    plan.largest_fit = find_largest(job, *asked.largest, try_job, tokens_of_images(job, model));
  return plan;
}

}  // namespace headroom::estimate
