// SPDX-License-Identifier: Apache-2.0
// fragmentation: PyTorch's allocator holds enough idle memory for the request, in pieces. The sum
// in the message proves it; that the job is known to fit confirms it.
#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "findings/causes/amounts.h"
#include "findings/causes/cache_advice.h"
#include "findings/causes/causes.h"
#include "findings/causes/growth.h"
#include "findings/causes/shortfall.h"

namespace headroom::findings {
namespace {

struct Claim {
  double sure = 0;
  std::string title, reason;
  const logs::Observation* seen = nullptr;
};

Claim of_torch(const FailedAllocation& failed) {
  const Reading reading = read_figures(failed);
  const double sure = reading.of(Shortfall::fragmented);
  if (sure <= 0.1 || !failed.idle) return {};
  return {sure,
          fmt::format("{} is reserved but unused, and a request for {} fails: fragmentation",
                      to_string(*failed.idle), to_string(*failed.asked)),
          reading.sum, failed.seen};
}

// TensorFlow's arena has much free memory, but no free block as large as the request.
Claim of_arena(const LogSubject& subject) {
  const auto* failed = subject.log.first("tf-oom");
  const auto arena = tensorflow_arena(subject.log);
  if (failed == nullptr || !arena || part_of(arena->used, arena->limit) >= 0.8) return {};
  const Bytes room = saturating_sub(arena->limit, arena->used);
  const auto asked = amount_of(*failed, "asked");
  if (!asked || *asked > room) return {};
  return {0.65,
          fmt::format("{} of TensorFlow's {} is free, but {} is not available in one piece",
                      to_string(room), to_string(arena->limit), to_string(*asked)),
          "The allocator has enough free memory for the request, but not in one piece.", failed};
}

// The author tells that what the allocator reserves grows, and what lives in it does not.
std::optional<Hypothesis> find_told_growth(const LogSubject& subject) {
  static const RE2 level(
      R"((?i)\ballocated\b.{0,24}\b(?:stay(?:s|ed)?|remain(?:s|ed)?|flat|constant|level|stable|unchanged|hardly|never|does(?:n.t| not)))");
  for (const logs::Observation* told : subject.log.of("reserved-grows-told")) {
    const std::string text = told->text + " " + join(told->output, " ");
    if (!RE2::PartialMatch(text, level)) continue;
    constexpr double as_told = 0.65;
    Hypothesis grown;
    grown.confidence = as_told;
    grown.is_told = true;
    grown.title = "The allocator is said to reserve more and more for little that lives in it";
    grown.reasons = {"Allocated memory does not grow with it, so free blocks are not used again."};
    grown.evidence = {show(subject, *told)};
    grown.fix = against_fragmentation(Framework::torch);
    grown.fix.insert(grown.fix.begin(),
                     sentence("Run it once without PYTORCH_ALLOC_CONF and PYTORCH_HIP_ALLOC_CONF, "
                              "then with one option at a time: options of the allocator may keep "
                              "it from using blocks again."));
    grown.alternatives = {{"framework-bug", 0.2, "the same with another release of PyTorch"}};
    return grown;
  }
  return std::nullopt;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  Claim claim;
  for (const FailedAllocation& failed : failed_allocations(subject.log)) {
    Claim other = of_torch(failed);
    if (other.sure > claim.sure) claim = std::move(other);
  }
  if (claim.seen == nullptr) claim = of_arena(subject);
  auto growing = find_growing_cache(subject);
  if (claim.seen == nullptr && !growing) return find_told_growth(subject);
  if (claim.seen == nullptr || (growing && growing->confidence > claim.sure)) return growing;
  Hypothesis pieces;
  pieces.confidence = claim.sure;
  pieces.title = claim.title;
  pieces.reasons = {claim.reason,
                    "Small blocks that are still in use split the memory that the allocator keeps "
                    "for reuse, so no part of it is large enough."};
  pieces.evidence.push_back(show(subject, *claim.seen));
  if (growing) pieces.reasons.push_back(growing->reasons.front());
  const Framework framework = framework_of(*claim.seen);
  pieces.fix = against_fragmentation(framework);
  pieces.alternatives = {{"job-too-big", 0.15, std::string(cache_contents(framework))},
                         {"vram-held-by-other", 0.05, "rocm-smi --showpids, with the job stopped"}};
  return pieces;
}

}  // namespace

constinit const CauseRule fragmentation_cause = {
    .id = "fragmentation",
    .meaning =
        "The allocator has reserved much of the memory, does not use it, and has it only in small "
        "pieces.",
    .why =
        "Changing sequence lengths, image sizes or model stages leave gaps in the segments that "
        "PyTorch keeps. A request that is larger than each gap fails, although all gaps together "
        "would be enough.",
    .fix = "Use an allocator that moves pages or packs blocks, or settings that split blocks less.",
    .explains = "job-too-big vram-held-by-other app-bug framework-bug crash-loop",
    .next = &NextCommand::allocator,
    .find = find,
};

}  // namespace headroom::findings
