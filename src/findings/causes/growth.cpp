// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "findings/causes/amounts.h"
#include "findings/causes/cache_advice.h"
#include "findings/causes/failed_allocation.h"

namespace headroom::findings {
namespace {

// What is left of "the job is too big" where growth explains the failure. It stays a runner-up:
// that the rest of the job would fit is arithmetic over figures that may lack others' memory.
constexpr double beside_growth = 0.3;
// The figures do not say whether live tensors grow or the allocator's cache does.
constexpr double of_either = 0.6;
// The failure's message has no figures to do the arithmetic with.
constexpr double without_figures = 0.85;

struct GrownFailure {
  MemoryGrowth growth;
  FailedAllocation failed;
  double sure = 0;
  std::string sum;  // The arithmetic in words; may be empty.
};

// The last failure behind the series' beginning that tells most: several signatures may match one
// line, and not all of them take its figures.
std::optional<FailedAllocation> failure_after(const LogSubject& subject,
                                              const MemoryGrowth& growth) {
  std::optional<FailedAllocation> last;
  for (const FailedAllocation& one : failed_allocations(subject.log)) {
    const bool is_after = one.seen->log != growth.log ||
                          one.seen->line > static_cast<std::uint64_t>(growth.first_line.line);
    if (is_after && (!last || one.figures() >= last->figures())) last = one;
  }
  return last;
}

// A failure that growth led to. Nothing if the request would have failed at the first step as well.
std::optional<GrownFailure> find_grown_failure(const LogSubject& subject) {
  auto growth = memory_growth(subject);
  if (!growth || !growth->is_growing() || growth->kind == GrowthKind::growing_host) {
    return std::nullopt;
  }
  const auto failed = failure_after(subject, *growth);
  if (!failed) return std::nullopt;
  GrownFailure found{*std::move(growth), *failed, 0, {}};
  found.sure = found.growth.sure;
  const auto capacity = failed->capacity ? failed->capacity : found.growth.capacity;
  if (!failed->asked || !capacity) {
    found.sure *= without_figures;
    return found;
  }
  const Bytes at_first = found.growth.first + *failed->asked;
  if (at_first > *capacity) return std::nullopt;
  found.sum = fmt::format(
      "With the {} that was in use at first, the request for {} would have fitted into {}.",
      to_string(found.growth.first), to_string(*failed->asked), to_string(*capacity));
  return found;
}

void show_growth(const LogSubject& subject, const GrownFailure& found, Hypothesis& hypothesis) {
  hypothesis.reasons.push_back(describe(found.growth));
  if (!found.sum.empty()) hypothesis.reasons.push_back(found.sum);
  hypothesis.evidence = {show(subject, *found.failed.seen), found.growth.first_line,
                         found.growth.last_line};
}

Hypothesis to_leak(const LogSubject& subject, const GrownFailure& found) {
  Hypothesis leak;
  leak.confidence = found.growth.kind == GrowthKind::growing ? found.sure * of_either : found.sure;
  const Bytes step{static_cast<std::uint64_t>(found.growth.bytes_per_step)};
  leak.title = fmt::format("The program keeps {} more with each {} until the GPU is full",
                           to_string(step), found.growth.unit);
  show_growth(subject, found, leak);
  leak.reasons.emplace_back(
      "A job that is just too big fails in its first steps. This one keeps something of each "
      "step.");
  leak.fix = {
      sentence(
          "Look for objects that outlive a step: losses summed as tensors, which keep their graphs "
          "(use total += loss.item()); outputs appended to a list (append x.detach().cpu()); "
          "key/value caches that are never cleared; hooks that keep activations."),
      sentence("Evaluate and generate under torch.inference_mode() or torch.no_grad(), and del "
               "what a step no longer needs."),
      sentence("See which lines hold it: call torch.cuda.memory._record_memory_history() at the "
               "start and torch.cuda.memory._dump_snapshot(\"leak.pickle\") after some steps. "
               "Then: headroom replay leak.pickle"),
      sentence("torch.cuda.empty_cache() does not help, because the memory is in use.")};
  leak.alternatives = {{"job-too-big", 0.15, "whether memory_allocated() is the same at each step"},
                       {"fragmentation", 0.1, "torch.cuda.memory_summary(), in the job"}};
  return leak;
}

}  // namespace

std::optional<MemoryGrowth> memory_growth(const LogSubject& subject) {
  if (subject.log.memory().all().empty()) return std::nullopt;
  MemorySizes sizes;
  if (const auto failed = failed_allocation(subject)) sizes.card = failed->capacity;
  if (!sizes.card && subject.scene.vram) sizes.card = *subject.scene.vram;
  if (const auto* limit = subject.log.first("memory-limit"))
    sizes.host = amount_of(*limit, "limit");
  if (!sizes.host && subject.scene.ram) sizes.host = *subject.scene.ram;
  return find_memory_growth(subject.log.memory(), sizes);
}

namespace {

// The allocator takes nearly the whole card for little that lives in it; nothing failed yet.
std::optional<Hypothesis> find_cache_that_fills(const LogSubject& subject) {
  const auto growth = memory_growth(subject);
  if (!growth || growth->kind != GrowthKind::growing_reserved || !growth->capacity) {
    return std::nullopt;
  }
  constexpr double nearly_all = 0.7, weight = 0.8;
  if (part_of(growth->highest, *growth->capacity) < nearly_all) return std::nullopt;
  Hypothesis cache;
  cache.confidence = growth->sure * weight;
  cache.title = "The allocator fills the card with memory that the job does not use";
  cache.reasons = {describe(*growth),
                   "Allocated memory does not grow with it, so free blocks are not used again."};
  cache.evidence = {growth->first_line, growth->last_line};
  cache.fix = against_fragmentation(Framework::torch);
  cache.fix.insert(cache.fix.begin(),
                   sentence("Run it once without PYTORCH_ALLOC_CONF and PYTORCH_HIP_ALLOC_CONF: "
                            "options of the allocator may keep it from using blocks again."));
  return cache;
}

}  // namespace

std::optional<Hypothesis> find_leak(const LogSubject& subject) {
  const auto found = find_grown_failure(subject);
  if (!found || found->growth.kind == GrowthKind::growing_reserved) return std::nullopt;
  return to_leak(subject, *found);
}

std::optional<Hypothesis> find_growing_cache(const LogSubject& subject) {
  const auto found = find_grown_failure(subject);
  if (!found) return find_cache_that_fills(subject);
  if (found->growth.kind != GrowthKind::growing_reserved) return std::nullopt;
  Hypothesis cache;
  cache.confidence = found->sure;
  const Bytes step{static_cast<std::uint64_t>(found->growth.bytes_per_step)};
  cache.title =
      fmt::format("The allocator takes {} more with each {}, but the job does not need it",
                  to_string(step), found->growth.unit);
  show_growth(subject, *found, cache);
  cache.reasons.emplace_back(
      "Allocated memory does not grow with it. So the growth is blocks that fit no later request, "
      "which varying lengths or sizes leave behind.");
  const Framework framework = framework_of(*found->failed.seen);
  cache.fix = against_fragmentation(framework);
  cache.fix.push_back(sentence("Pad or bucket lengths and image sizes to a few values."));
  if (framework == Framework::torch) {
    cache.fix.push_back(
        sentence("To see that it is the cache, call torch.cuda.empty_cache() now and then. "
                 "Reserved memory then falls towards allocated memory."));
  }
  cache.alternatives = {{"job-too-big", 0.15, std::string(cache_contents(framework))}};
  return cache;
}

void weigh_growth(const LogSubject& subject, Hypothesis& too_big) {
  const auto growth = memory_growth(subject);
  if (!growth) return;
  if (find_grown_failure(subject)) {
    too_big.confidence *= 1 - (1 - beside_growth) * growth->sure / 0.85;
    too_big.reasons.push_back(describe(*growth));
    return;
  }
  const auto failed = failure_after(subject, *growth);
  if (growth->kind != GrowthKind::level || !failed || growth->memory == logs::MemoryKind::host)
    return;
  constexpr double least_share = 0.6;  // Of the card; else others may have the rest.
  if (growth->capacity && part_of(growth->highest, *growth->capacity) >= least_share) {
    constexpr double for_a_level = 0.1;
    too_big.confidence = std::max(
        too_big.confidence, std::min(confidence::likely + 0.05, too_big.confidence + for_a_level));
  }
  too_big.reasons.push_back(describe(*growth) +
                            " It was so from the start. Nothing leaks; the job needs this much.");
  too_big.evidence.push_back(growth->first_line);
}

void tell_growth_of_host(const LogSubject& subject, Hypothesis& killed) {
  const auto growth = memory_growth(subject);
  if (!growth || growth->kind != GrowthKind::growing_host) return;
  // Memory that grows is one more sign that its end was the reason.
  killed.confidence = std::min(confidence::proven, killed.confidence + 0.1);
  killed.reasons.push_back(describe(*growth));
  killed.evidence.push_back(growth->first_line);
  killed.evidence.push_back(growth->last_line);
  killed.fix.push_back(sentence(
      "Host memory that grows with each step is kept by the program. Look for lists of batches or "
      "outputs, data loader workers that touch lists of Python objects (use arrays), and a cache "
      "of the data set (num_workers, persistent_workers, prefetch_factor)."));
}

}  // namespace headroom::findings
