// SPDX-License-Identifier: Apache-2.0
#include "estimate/search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/require.h"
#include "estimate/models/parameters.h"
#include "estimate/setting_estimate.h"
#include "estimate/transformers/engine.h"
#include "estimate/transformers/mlp.h"

namespace headroom::estimate {
namespace {

constexpr std::size_t advice_max = 5;
constexpr std::uint64_t automatic_micro_max = 256;
constexpr std::size_t micro_batches_max = 24;
// Fragmentation may undo what the sum of live bytes allows: so many are planned in full at most.
constexpr int trials_max = 16;
// Experts that are planned one by one, a hundred tensors each, make a plan slow (10000: some 2 s).
// From so many on only what saves most is looked at, and little of it planned in full …
constexpr std::uint64_t slow_experts = 512;
constexpr int slow_trials_max = 2;
// … and of so many nothing: the search would take longer than anyone waits.
constexpr std::uint64_t searched_experts_max = 8192;
// Speeds nearer to each other than this are equal: paper is not exact.
constexpr double speed_step = 0.02;

struct FittingSize {
  std::uint64_t value = 0;
  Fit fit;
};

// One of `sizes` (largest first) with which the job fits while it does not with the next larger
// one, if there is one. By bisection: what is live grows with the size, even if PyTorch's allocator
// may take a little less of the device.
Result<std::optional<FittingSize>> bisect(const std::vector<std::uint64_t>& sizes,
                                          const std::function<Job(std::uint64_t)>& job_with,
                                          const TryJob& try_job) {
  std::optional<FittingSize> largest;
  std::size_t begin = 0;
  std::size_t end = sizes.size();
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    HEADROOM_TRY(const Fit fit, try_job(job_with(sizes[middle])));
    if (fit.fits) {
      largest = FittingSize{sizes[middle], fit};
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return largest;
}

struct Candidate {
  Change change;
  double relative_speed = 1;
  bool slow = false;
};

bool better(const Candidate& a, const Candidate& b) {
  const auto step = [](double speed) { return std::lround(std::log(speed) / speed_step); };
  const long speed_a = step(a.relative_speed);
  const long speed_b = step(b.relative_speed);
  if (speed_a != speed_b) return speed_a > speed_b;
  if (count(a.change) != count(b.change)) return count(a.change) < count(b.change);
  return a.change.micro.value_or(UINT64_MAX) > b.change.micro.value_or(UINT64_MAX);
}

class Finder {
 public:
  Finder(const Job& job, const Architecture& model, const Device& device, const TryJob& try_job)
      : device_(device), open_(job), job_(with({})), model_(model), try_job_(try_job) {
    room_bytes_ = saturating_sub(*device.capacity, device.context).value;
  }

  Result<Search> run(bool faster_only) {
    HEADROOM_TRY(SettingEstimator own, SettingEstimator::make(job_, model_, device_));
    HEADROOM_TRY(const SettingEstimate given, own.at(job_));
    given_speed_ = given.tokens_per_second;
    collect({}, kernel_changes(job_, model_, device_));
    if (faster_only)
      std::erase_if(candidates_,
                    [](const Candidate& c) { return c.relative_speed < 1 + speed_step; });
    HEADROOM_CHECK(choose());
    if (faster_only || found_.advice.size() >= advice_max) return std::move(found_);
    for (const Change& change : result_changes(job_, device_))
      collect(change, kernel_changes(with(change), model_, device_));
    HEADROOM_CHECK(choose());
    return std::move(found_);
  }

 private:
  // The job with a change, as it is planned.
  Job with(const Change& change) const {
    Job job = apply(open_, change);
    job.compute.attention = attention_for(job, device_);
    return job;
  }

  // Every kernel, every split of the batch, every way to run the optimizer, on top of `change`.
  void collect(const Change& change, const std::vector<Change>& kernels) {
    const Job job = with(change);
    if (least_bytes(job) > room_bytes_) return;
    const std::uint64_t experts = single(job);
    if (experts > searched_experts_max) {
      found_.passed_over = std::max(found_.passed_over, experts);
      return;
    }
    for (const Change& kernel : kernels) {
      const bool saves_most = !kernel.attention && !kernel.loss && !kernel.norm;
      if (experts > slow_experts && !saves_most) continue;
      const Change setting = merge(change, kernel);
      auto estimator = SettingEstimator::make(with(setting), model_, device_);
      if (estimator) collect_batches(setting, *estimator);  // Else it is no setting of this engine.
    }
  }

  std::uint64_t single(const Job& job) const {
    const bool records = job.engine.kind == EngineKind::transformers && !model_.graph;
    return records ? transformers::single_experts(job, model_) : 0;
  }

  // The weights alone, as if all of them could be held as narrow as most are.
  std::uint64_t least_bytes(const Job& job) const {
    if (job.engine.kind != EngineKind::transformers || model_.graph) return 0;
    const std::uint64_t parameters = parameter_count(as_run(model_, job));
    const auto plain = plain_type(job.method.base);
    if (plain) return parameters * std::min(size_of(*plain), size_of(job.compute.embeddings));
    return job.method.base == WeightFormat::int8 ? parameters : parameters / 2;
  }

  void collect_batches(const Change& setting, SettingEstimator& estimator) {
    const std::uint64_t global = *job_.batch.micro * *job_.batch.accumulate;
    auto sizes = micro_batches(global, std::max(*job_.batch.micro, automatic_micro_max));
    if (sizes.size() > micro_batches_max) sizes.resize(micro_batches_max);
    if (sizes.empty() || sizes.back() != 1) sizes.push_back(1);
    const bool slow = single(with(setting)) > slow_experts;
    if (slow) sizes = {*job_.batch.micro, 1};
    if (slow && sizes.front() == 1) sizes.pop_back();
    for (const Change& optimizer : optimizer_changes(with(setting))) {
      for (const std::uint64_t micro : sizes) {
        Change whole = merge(setting, optimizer);
        if (micro != *job_.batch.micro) {
          whole.micro = micro;
          // Inference has no steps: it takes fewer samples at a time.
          if (job_.method.kind != MethodKind::inference || job_.batch.global)
            whole.accumulate = global / micro;
        }
        ++found_.combinations;
        const auto seen = estimator.at(with(whole));
        if (!seen || seen->allocated_bytes > room_bytes_ || count(whole) == 0) continue;
        candidates_.push_back({whole, seen->tokens_per_second / given_speed_, slow});
      }
    }
  }

  // Plans the best of them in full until there are enough. What only adds to a setting that has
  // been chosen, or is of its character, is not faster than it and is passed over.
  Status choose() {
    std::stable_sort(candidates_.begin(), candidates_.end(), better);
    int trials = 0;
    int slow_trials = 0;
    for (const Candidate& candidate : candidates_) {
      if (found_.advice.size() >= advice_max || trials >= trials_max) break;
      const bool adds_nothing =
          std::any_of(found_.advice.begin(), found_.advice.end(), [&](const Advice& chosen) {
            return within(chosen.change, candidate.change) ||
                   alike(chosen.change, candidate.change);
          });
      if (adds_nothing) continue;
      if (candidate.slow && slow_trials >= slow_trials_max) continue;
      ++trials;
      slow_trials += candidate.slow ? 1 : 0;
      const Job job = with(candidate.change);
      HEADROOM_TRY(const Fit fit, try_job_(job));
      if (!fit.fits) continue;
      found_.advice.push_back(
          {candidate.change, job, fit.allocated_bytes, fit.device_bytes, candidate.relative_speed});
    }
    candidates_.clear();
    return Done{};
  }

  const Device& device_;
  const Job& open_;  // Its kernel is as given, or left to the device.
  const Job job_;    // As planned.
  const Architecture& model_;
  const TryJob& try_job_;
  std::uint64_t room_bytes_ = 0;
  double given_speed_ = 1;
  std::vector<Candidate> candidates_;
  Search found_;
};

// The batch, as far as it follows without a look at the memory.
bool batch_follows(Job& job) {
  const std::optional<std::uint64_t> global = job.batch.global;
  if (job.batch.micro) {
    if (!job.batch.accumulate) job.batch.accumulate = global ? *global / *job.batch.micro : 1;
    return true;
  }
  if (!global || !job.batch.accumulate) return false;
  job.batch.micro = *global / *job.batch.accumulate;
  return true;
}

Result<std::optional<FittingSize>> largest_batch(const Job& job, const TryJob& try_job) {
  if (job.batch.micro) {
    HEADROOM_TRY(const Fit fit, try_job(job));
    return fit.fits ? std::optional(FittingSize{*job.batch.micro, fit}) : std::nullopt;
  }
  const auto sizes =
      micro_batches(job.batch.global.value_or(automatic_micro_max), automatic_micro_max);
  std::vector<std::uint64_t> all(automatic_micro_max);
  for (std::uint64_t i = 0; i < all.size(); ++i) all[i] = automatic_micro_max - i;
  const auto with = [&job](std::uint64_t micro) {
    Job changed = job;
    changed.batch.micro = micro;
    return changed;
  };
  return bisect(job.batch.global ? sizes : all, with, try_job);
}

Job with_batch(Job job, std::uint64_t micro) {
  job.batch.micro = micro;
  const std::optional<std::uint64_t> global = job.batch.global;
  job.batch.accumulate = global ? *global / micro : job.batch.accumulate.value_or(1);
  return job;
}

}  // namespace

Result<Job> choose_automatic(Job job, const Architecture& model, const Device& device,
                             const TryJob& try_job) {
  require(job.compute.attention.has_value(), "the attention kernel is chosen first");
  const bool follows = batch_follows(job);
  const bool chooses = job.compute.checkpointing == Checkpointing::automatic;
  if (follows && !chooses) return job;
  std::vector<Checkpointing> kinds = {job.compute.checkpointing};
  if (chooses) {
    kinds = {Checkpointing::none, Checkpointing::selective, Checkpointing::layer};
    if (job.method.kind == MethodKind::inference) kinds = {Checkpointing::none};
  }
  std::optional<Job> best;
  double best_speed = 0;
  for (const Checkpointing kind : kinds) {
    Job with = job;
    with.compute.checkpointing = kind;
    // Accumulation decides whether gradients wait during the forward.
    if (!with.batch.accumulate) with.batch.accumulate = with.batch.global ? 2 : 1;
    HEADROOM_TRY(const auto largest, largest_batch(with, try_job));
    if (!largest) continue;
    with.batch.accumulate = job.batch.accumulate;
    with = with_batch(std::move(with), largest->value);
    if (kinds.size() == 1) return with;
    HEADROOM_TRY(SettingEstimator estimator, SettingEstimator::make(with, model, device));
    HEADROOM_TRY(const SettingEstimate seen, estimator.at(with));
    if (seen.tokens_per_second <= best_speed) continue;
    best_speed = seen.tokens_per_second;
    best = with;
  }
  if (best) return *best;
  // Nothing fits, or nothing is known to: the least memory, or what is fastest.
  job.compute.checkpointing = device.capacity ? kinds.back() : kinds.front();
  return follows ? job : with_batch(std::move(job), 1);
}

Result<Search> find_settings(const Job& job, const Architecture& model, const Device& device,
                             const TryJob& try_job, bool faster_only) {
  require(device.capacity.has_value(), "settings are looked for on a device of known capacity");
  return Finder(job, model, device, try_job).run(faster_only);
}

LargestFit find_largest(const Job& job, Quantity quantity, const TryJob& try_job,
                        std::uint64_t least_tokens) {
  constexpr std::uint64_t most = std::uint64_t{1} << 20U;
  const auto with = [&](std::uint64_t value) {
    Job changed = job;
    if (quantity == Quantity::batch) {
      changed.batch.micro = value;
    } else if (job.method.kind == MethodKind::inference) {
      changed.batch.prompt = value;
    } else {
      changed.batch.sequence = value;
    }
    return changed;
  };
  const auto tries = [&](std::uint64_t value) -> Fit {
    const auto fit = try_job(with(value));
    return fit ? *fit : Fit{};  // Beyond the model's positions, or every device.
  };
  LargestFit largest{quantity, 0, 0, 0};
  std::uint64_t above = quantity == Quantity::sequence ? least_tokens : 1;
  while (above <= most) {
    const Fit fit = tries(above);
    if (!fit.fits) break;
    largest = {quantity, above, fit.allocated_bytes, fit.device_bytes};
    above *= 2;
  }
  while (largest.value + 1 < above && largest.value < most) {
    const std::uint64_t middle = largest.value + (above - largest.value) / 2;
    const Fit fit = tries(middle);
    if (fit.fits) {
      largest = {quantity, middle, fit.allocated_bytes, fit.device_bytes};
    } else {
      above = middle;
    }
  }
  return largest;
}

}  // namespace headroom::estimate
