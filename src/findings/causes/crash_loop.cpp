// SPDX-License-Identifier: Apache-2.0
// crash-loop: a signal ends a process, and its supervisor starts it again and again without
// success. One death without a restart is no loop. SIGKILL comes from elsewhere (the OOM killer),
// and SIGILL points to the processor.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "findings/causes/causes.h"
#include "findings/causes/crash_signs.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// Whether a process died by its own fault: an abort, a wrong address, a bus error or a division by
// zero.
bool is_own_fault(const Observation& death) {
  const std::string_view code = death.value("code"), signal = death.value("signal");
  if (!code.empty()) return code == "134" || code == "135" || code == "136" || code == "139";
  return signal == "SIGSEGV" || signal == "SIGABRT" || signal == "SIGBUS" || signal == "SIGFPE";
}

std::uint64_t deaths_of(const logs::Observations& log) {
  std::uint64_t workers = 0;
  for (const Observation* one : log.of("worker-killed")) workers += is_own_fault(*one) ? 1 : 0;
  // One death may be reported in several lines, so the most frequent kind is counted.
  return std::max({workers, log.count_of("aborted"), log.count_of("segfault"),
                   log.seen("illegal-instruction") ? 0 : log.count_of("signal-exit")});
}

std::uint64_t restarts_of(const logs::Observations& log, bool& lasting) {
  std::uint64_t most = log.count_of("restarted");
  for (const Observation* one : log.of("restarted")) {
    for (const std::string_view name : {"counter", "count", "count_1"}) {
      most = std::max(most, parse_u64(one->value(name)).value_or(0));
    }
    if (one->text.find("BackOff") != std::string::npos) lasting = true;
  }
  return std::max(most, log.count_of("worker-started"));
}

// SELinux may let a container open /dev/kfd but not map it; then ROCm's runtime ends the process
// with a message about memory.
void consider_selinux(const LogSubject& subject, Hypothesis& loop) {
  const Observation* in_use = subject.log.first("memory-in-use");
  if (in_use == nullptr) return;
  loop.confidence = confidence::possible;
  loop.evidence.insert(loop.evidence.begin(), show(subject, *in_use, logs::describe(*in_use)));
  loop.reasons.back() =
      "ROCm's runtime ends the process because the driver did not take memory back. In a container "
      "under SELinux the usual reason is a denied \"map\" of /dev/kfd.";
  loop.fix.insert(
      loop.fix.begin(),
      {sentence_with("See whether SELinux denies it",
                     "sudo ausearch -m avc -ts today | grep hsa_device"),
       sentence_with(
           "If it does, allow it (or start the container with --security-opt label=disable)",
           "sudo setsebool -P container_use_devices=true")});
  loop.alternatives.insert(
      loop.alternatives.begin(),
      {"device-permission", 0.45, "sudo ausearch -m avc -ts today | grep -E 'kfd|hsa_device'"});
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  bool lasting = false;  // The supervisor itself reports repeated deaths.
  const std::uint64_t deaths = deaths_of(subject.log);
  const std::uint64_t restarts = restarts_of(subject.log, lasting);
  if (deaths == 0 || restarts == 0) return std::nullopt;
  lasting = lasting || deaths > 1 || restarts > 2;
  Hypothesis loop;
  loop.confidence = lasting ? 0.7 : confidence::possible;
  const bool segfault = subject.log.seen("segfault");
  loop.title = fmt::format("A process dies from {} {} and is restarted",
                           segfault ? "an invalid memory access (SIGSEGV)" : "a signal",
                           deaths > 1 ? fmt::format("{} times", deaths) : "while it works");
  loop.reasons.push_back(fmt::format("{} {} by a signal, {} {}: restarting it does not help.",
                                     deaths, deaths == 1 ? "death" : "deaths", restarts,
                                     restarts == 1 ? "start" : "starts"));
  loop.reasons.emplace_back("No line says what went wrong inside. It is a crash in a library.");
  show_some(subject, {"crash-frame", "worker-killed", "segfault", "aborted", "signal-exit"}, 3,
            loop);
  show_some(subject, {"worker-started", "restarted", "runner-died"}, 2, loop);
  loop.fix = {sentence("Find out where it crashes: set PYTHONFAULTHANDLER=1 in the service's "
                       "environment, or run coredumpctl gdb."),
              sentence("Look at the kernel's messages of the same minute: sudo dmesg -T | grep -iE "
                       "'segfault|trap|amdgpu|oom'"),
              sentence("Try the program's previous release, and its CPU build. That shows whether "
                       "the GPU's libraries are the reason.")};
  loop.alternatives.push_back(
      {"framework-bug", 0.3, "coredumpctl gdb, then bt: which library the innermost frame is in"});
  loop.alternatives.push_back(
      {"gfx-target-missing", 0.2, "AMD_LOG_LEVEL=3 CMD 2>&1 | grep -i 'code object'"});
  consider_selinux(subject, loop);
  return loop;
}

}  // namespace

constinit const CauseRule crash_loop_cause = {
    .id = "crash-loop",
    .meaning = "A process is killed by a signal at every start, and is restarted each time.",
    .why =
        "A supervisor (gunicorn, systemd, docker, Kubernetes) restarts the process. If a library "
        "crashes at the same place each time, this goes on forever and hides the first message.",
    .fix = "Stop the restarts, run the program by hand, and find the library that crashes.",
    .explains = "app-bug",
    .find = find,
};

}  // namespace headroom::findings
