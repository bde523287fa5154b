// SPDX-License-Identifier: Apache-2.0
// vram-orphaned: memory stays taken after its owner has gone. Three signs together prove it: the
// driver counts memory in use, no process has it, and a job was killed or the driver failed before.
// A worker that survives its killed parent counts as well.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "findings/causes/amounts.h"
#include "findings/causes/causes.h"
#include "findings/causes/device_memory.h"
#include "findings/causes/shortfall.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// Finds a job that was ended early, before `now`, or the kernel's trouble with ending one, which
// may be logged later.
const Observation* violent_end(const logs::Observations& log, const Observation& now) {
  for (const char* id : {"driver-oops", "process-defunct", "ipc-orphan", "queue-not-removed"}) {
    if (const Observation* one = log.first(id)) return one;
  }
  const Observation* end = log.first_of({"job-killed", "killed"});
  return end != nullptr && is_before(*end, now) ? end : nullptr;
}

// How much is taken without any process, by the driver's count or else by the job's figures.
std::optional<SeenAmount> taken(const LogSubject& subject, const DeviceMemory& memory) {
  const auto& used = memory.unified ? memory.gtt_used : memory.vram_used;
  const auto& total = memory.unified ? memory.gtt_total : memory.vram_total;
  if (used && used->amount >= 1_GiB && (!total || part_of(used->amount, total->amount) >= 0.12)) {
    return used;
  }
  const auto failed = failed_allocation(subject);
  if (used || !failed || read_figures(*failed).of(Shortfall::others) < 0.5) return std::nullopt;
  return SeenAmount{failed->unaccounted().value_or(Bytes{}), failed->seen};
}

// Whether a process has a name of those that jobs leave behind.
bool is_worker(const std::string& program) {
  for (const char* known : {"python", "VLLM::", "ray::", "pt_", "sglang", "torchrun", "UNKNOWN"}) {
    if (program.find(known) != std::string::npos) return true;
  }
  return false;
}

struct Claim {
  double sure = 0;
  std::string title;
  std::vector<const Observation*> lines;
};

std::optional<Claim> without_owner(const LogSubject& subject, const DeviceMemory& memory) {
  const auto amount = taken(subject, memory);
  // Monitoring services have every GPU open but use none of its memory.
  const Observation* nobody =
      memory.no_processes != nullptr ? memory.no_processes : memory.holders_without_memory();
  if (nobody == nullptr || !amount) return std::nullopt;
  Claim claim;
  const Observation* end = violent_end(subject.log, *nobody);
  const bool by_driver = amount->seen->id() != "torch-oom";
  claim.sure = subject.log.seen("driver-oops") ? 0.93 : end != nullptr ? 0.85 : 0.6;
  // The list has every process with the GPU open, except graphics programs.
  const bool all_told = memory.no_processes == nullptr && !memory.unified;
  if (all_told) claim.sure = std::max(claim.sure, 0.72);
  if (!by_driver) claim.sure -= 0.1;
  // Whoever lists the host's monitoring services sees all processes.
  const bool sees_host = subject.log.seen("monitors-hold-gpu");
  constexpr double with_monitors_alone = 0.7;
  if (sees_host) claim.sure = std::max(claim.sure, with_monitors_alone);
  // In a container the host's processes are invisible.
  if (!sees_host && subject.scene.machine.in_container()) claim.sure -= end == nullptr ? 0.15 : 0.1;
  // vLLM's own check may count memory that it took itself a moment before.
  if (amount->seen->id() == "vllm-startup-memory") {
    claim.sure = end != nullptr ? 0.7 : all_told ? 0.6 : 0.4;
  }
  const bool is_share =
      memory.is_share && memory.vram_used && amount->seen == memory.vram_used->seen;
  claim.title = fmt::format(
      "{} is in use, and no process holds it",
      is_share ? fmt::format("{:.0f} % of the GPU's memory", 100 * memory.used_part().value_or(0))
               : to_string(amount->amount) + " of GPU memory");
  claim.lines = {amount->seen, nobody};
  if (end != nullptr) claim.lines.push_back(end);
  return claim;
}

// Finds the output of ps in which the parent of `pid` is PID 1, so its real parent is gone.
const Observation* adopted(const logs::Observations& log, const std::string& pid) {
  static const RE2 chosen(R"( -\w*o ?([\w,]+))");
  for (const Observation* one : log.of("parent-row")) {
    std::string columns = "uid,pid,ppid";  // The columns of `ps -ef`.
    RE2::PartialMatch(one->text, chosen, &columns);
    const auto names = split(columns, ',');
    const auto place_of = [&](std::string_view name) {
      return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    };
    const std::size_t own = place_of("pid"), parent = place_of("ppid");
    for (const std::string& line : one->output) {
      const auto words = split_words(line);
      if (parent >= words.size() || words[parent] != "1") continue;
      // If ps was asked for one process (-p), its number need not be in the output.
      const bool is_it =
          own < names.size() ? words[own] == pid : one->text.find(pid) != std::string::npos;
      if (is_it) return one;
    }
  }
  return nullptr;
}

// A worker of the killed job is still alive and has the GPU open.
std::optional<Claim> left_behind(const LogSubject& subject, const DeviceMemory& memory) {
  const bool failed = failed_allocation(subject).has_value();
  for (const SeenHolder& one : memory.holders) {
    const Observation* end = violent_end(subject.log, *one.seen);
    const Observation* parent = adopted(subject.log, one.pid);
    if ((end == nullptr && parent == nullptr) || !is_worker(one.program)) continue;
    const bool holds = failed || one.vram >= 1_GiB;
    const bool both = end != nullptr && parent != nullptr;
    Claim claim{holds ? (both ? 0.88 : 0.7) : 0.5,
                fmt::format("{} (PID {}) outlived its job and holds {}", one.program, one.pid,
                            one.vram.value > 0 ? to_string(one.vram) : "GPU memory"),
                {one.seen}};
    for (const Observation* line : {end, parent}) {
      if (line != nullptr) claim.lines.push_back(line);
    }
    return claim;
  }
  const Observation* defunct = subject.log.first_of({"process-defunct", "ipc-orphan"});
  if (defunct != nullptr && failed) {
    return Claim{0.6,
                 "A process that has ended still holds GPU memory",
                 {defunct, failed_allocation(subject)->seen}};
  }
  return std::nullopt;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const DeviceMemory memory = device_memory(subject);
  auto claim = without_owner(subject, memory);
  if (!claim) claim = left_behind(subject, memory);
  if (!claim) return std::nullopt;
  Hypothesis orphaned;
  orphaned.confidence = claim->sure;
  orphaned.title = claim->title;
  orphaned.reasons = {
      "The driver frees memory when the last handle to it is closed. A forked worker, a shared "
      "tensor, or a release that is stuck in the kernel keeps it. Nothing inside a new job can "
      "free it."};
  for (const Observation* line : claim->lines) {
    orphaned.evidence.push_back(show(subject, *line));
  }
  orphaned.fix = {
      sentence_with("See what still has the GPU open: a worker, a debugger, a monitoring service",
                    "sudo fuser -v /dev/kfd /dev/dri/renderD*"),
      sentence_with("Find what belongs to the old job and end it with kill PID, after ten seconds "
                    "with kill -9 PID",
                    "ps -eo pid,ppid,stat,cmd | grep -E 'python|VLLM|ray|<defunct>'"),
      sentence_with("Wait half a minute, then look again", "headroom check"),
      sentence("If no process holds the memory and it stays in use, reboot. A reset of the GPU "
               "would end every program on it.")};
  orphaned.alternatives = {{"vram-held-by-other", std::min(0.3, 1 - claim->sure),
                            "amdgpu_top, which also lists programs that use graphics and Vulkan"}};
  return orphaned;
}

}  // namespace

constinit const CauseRule vram_orphaned_cause = {
    .id = "vram-orphaned",
    .meaning = "GPU memory is in use and its owner is gone.",
    .why =
        "A job that is killed while it works can leave workers, shared tensors or a release that "
        "never ends in the kernel. Later jobs cannot use their memory.",
    .fix = "End what is left of the old job. Reboot if the memory stays in use without a holder.",
    .explains = "vram-held-by-other job-too-big app-bug framework-bug crash-loop",
    .find = find,
};

}  // namespace headroom::findings
