// SPDX-License-Identifier: Apache-2.0
#include "estimate/search.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace headroom::estimate {
namespace {

constexpr std::size_t advice_max = 5;
constexpr std::uint64_t automatic_micro_max = 256;

// Divisors of the global batch, largest first: the micro-batches that keep it whole.
std::vector<std::uint64_t> micro_batches(std::uint64_t global, std::uint64_t most) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t micro = std::min(global, most); micro > 0; --micro) {
    if (global % micro == 0) sizes.push_back(micro);
  }
  return sizes;
}

struct LargestFit {
  std::uint64_t micro = 0;
  std::uint64_t allocated_bytes = 0;
};

// The first of `sizes` (largest first) with which the job fits, if there is one. By bisection, as a
// job takes no less memory with a larger micro-batch.
Result<std::optional<LargestFit>> find_largest(const std::vector<std::uint64_t>& sizes,
                                               const std::function<Job(std::uint64_t)>& job_with,
                                               const TryJob& try_job) {
  std::optional<LargestFit> largest;
  std::size_t begin = 0;
  std::size_t end = sizes.size();
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    HEADROOM_TRY(const Fit fit, try_job(job_with(sizes[middle])));
    if (fit.fits) {
      largest = LargestFit{sizes[middle], fit.allocated_bytes};
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return largest;
}

template <class T>
std::vector<T> with_alternative(T given, T other, bool available) {
  return available && given != other ? std::vector<T>{given, other} : std::vector<T>{given};
}

// The kernels that may take the given ones' places. Only our own engine can swap them; what
// transformers uses follows from the card and the model's code.
std::vector<Change> kernel_changes(const Job& job) {
  const bool ours = job.engine.kind == EngineKind::headroom;
  std::vector<Change> changes;
  for (const auto attention :
       with_alternative(*job.compute.attention, Attention::efficient, ours)) {
    for (const auto loss : with_alternative(job.compute.loss, Loss::chunked, ours)) {
      for (const auto kept :
           with_alternative(job.compute.checkpointing, Checkpointing::layer, true)) {
        Change change;
        if (attention != *job.compute.attention) change.attention = attention;
        if (loss != job.compute.loss) change.loss = loss;
        if (kept != job.compute.checkpointing) change.checkpointing = kept;
        changes.push_back(change);
      }
    }
  }
  return changes;
}

int count(const Change& change) {
  return int{change.micro.has_value()} + int{change.checkpointing.has_value()} +
         int{change.attention.has_value()} + int{change.loss.has_value()};
}

bool better(const Advice& a, const Advice& b) {
  if (a.relative_speed != b.relative_speed) return a.relative_speed > b.relative_speed;
  if (count(a.change) != count(b.change)) return count(a.change) < count(b.change);
  return a.change.micro.value_or(UINT64_MAX) > b.change.micro.value_or(UINT64_MAX);
}

// Of the matrices of all layers that a token passes through.
double matrix_elements(const Architecture& model) {
  double sum = 0;
  for (const Stack& stack : model.stacks) {
    const std::uint64_t attention =
        stack.hidden * (stack.attention.fused_size() + stack.attention.query_size());
    const std::uint64_t mlp = stack.hidden * stack.mlp.intermediate * (stack.mlp.gated ? 3 : 2);
    sum += static_cast<double>(stack.layers * (attention + mlp));
  }
  return sum;
}

}  // namespace

double flops_per_sample(const Job& job, const Architecture& model) {
  const auto tokens = static_cast<double>(job.batch.sequence);
  const Stack& stack = model.main();
  const auto embedding = static_cast<double>(model.vocabulary * stack.hidden);
  const double layers = matrix_elements(model);
  const double scores =
      2.0 * tokens * static_cast<double>(stack.attention.query_size() * stack.layers);
  const double layer_forward = tokens * (2.0 * layers + 2.0 * scores);
  const double forward = layer_forward + tokens * 2.0 * embedding;
  // Frozen weights need the gradient of their input only.
  double total = forward * (job.method.kind == MethodKind::full ? 3.0 : 2.0);
  if (job.compute.checkpointing == Checkpointing::layer) total += layer_forward;
  const bool recomputes_scores =
      job.compute.attention == Attention::efficient || job.compute.attention == Attention::flash;
  if (recomputes_scores) total += tokens * scores;
  return total;
}

Result<Job> choose_batch(Job job, const TryJob& try_job) {
  const std::optional<std::uint64_t> global = job.batch.global;
  if (job.batch.micro) {
    job.batch.accumulate = global ? *global / *job.batch.micro : 1;
    return job;
  }
  if (global && job.batch.accumulate) {
    job.batch.micro = *global / *job.batch.accumulate;
    return job;
  }
  const auto with = [&](std::uint64_t micro) {
    Job changed = job;
    changed.batch.micro = micro;
    changed.batch.accumulate = global ? *global / micro : job.batch.accumulate.value_or(1);
    return changed;
  };
  const auto sizes = micro_batches(global.value_or(automatic_micro_max), automatic_micro_max);
  HEADROOM_TRY(const auto largest, find_largest(sizes, with, try_job));
  return with(largest ? largest->micro : 1);
}

Result<std::vector<Advice>> find_advice(const Job& job, const Architecture& model,
                                        const TryJob& try_job) {
  const double given = flops_per_sample(job, model);
  const std::uint64_t global = *job.batch.micro * *job.batch.accumulate;
  std::vector<Advice> advice;
  for (const Change& change : kernel_changes(job)) {
    const auto with = [&](std::uint64_t micro) {
      Change with_micro = change;
      if (micro != *job.batch.micro) {
        with_micro.micro = micro;
        with_micro.accumulate = global / micro;
      }
      return with_micro;
    };
    const auto apply_with = [&](std::uint64_t micro) { return apply(job, with(micro)); };
    HEADROOM_TRY(const auto largest,
                 find_largest(micro_batches(global, *job.batch.micro), apply_with, try_job));
    if (!largest) continue;  // Smaller micro-batches than the largest have nothing to offer.
    advice.push_back({with(largest->micro), largest->allocated_bytes,
                      given / flops_per_sample(apply_with(largest->micro), model)});
  }
  std::stable_sort(advice.begin(), advice.end(), better);
  if (advice.size() > advice_max) advice.resize(advice_max);
  return advice;
}

}  // namespace headroom::estimate
