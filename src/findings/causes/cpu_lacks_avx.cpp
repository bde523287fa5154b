// SPDX-License-Identifier: Apache-2.0
// not-amd-gpu: a program dies with SIGILL because the processor has no AVX (or another set of
// instructions) that it was compiled for. An old AMD processor says nothing about an AMD GPU.
#include "base/text.h"
#include "findings/causes/causes.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// "grep -c avx /proc/cpuinfo" printed 0, or a program says so.
const Observation* lack_of_avx(const logs::Observations& log) {
  for (const Observation* one : log.of("no-avx")) {
    const bool counted = one->text.find("grep") != std::string::npos;
    if (!counted || (!one->output.empty() && trim(one->output.front()) == "0")) return one;
  }
  return nullptr;
}

bool exits_by_sigill(const logs::Observations& log) {
  if (log.seen("illegal-instruction")) return true;
  for (const Observation* one : log.of("signal-exit")) {
    if (one->value("code") == "132" || one->value("code") == "-4") return true;
  }
  return false;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const Observation* lacks = lack_of_avx(subject.log);
  if (!exits_by_sigill(subject.log)) return std::nullopt;
  Hypothesis cpu;
  cpu.confidence = lacks != nullptr ? 0.9 : 0.6;
  cpu.title = lacks != nullptr
                  ? "The processor has no AVX, which the program needs"
                  : "The program uses an instruction that this processor does not have";
  cpu.reasons.emplace_back("SIGILL (exit code 132) is raised by the processor, never by a GPU.");
  const Observation* death = subject.log.first_of({"illegal-instruction", "signal-exit"});
  cpu.evidence.push_back(show(subject, *death, logs::describe(*death)));
  if (lacks != nullptr) cpu.evidence.push_back(show(subject, *lacks));
  cpu.fix = {
      sentence_with("See which of them the processor has",
                    "grep -o -w -E 'avx|avx2|avx512f' /proc/cpuinfo | sort | uniq -c"),
      sentence(
          "In a virtual machine, give it the host's processor type (Proxmox, QEMU: cpu host)."),
      sentence("Otherwise use a build of the program without AVX, or another processor.")};
  cpu.alternatives.push_back({"crash-loop", 0.2, "sudo dmesg | grep -i 'trap invalid opcode'"});
  return cpu;
}

}  // namespace

constinit const CauseRule cpu_lacks_avx_cause = {
    .id = "not-amd-gpu",
    .meaning = "A program dies because the processor does not have an instruction that it needs.",
    .why =
        "Most builds of machine-learning libraries need AVX. Old processors, and virtual machines "
        "with a generic processor type, do not have it.",
    .fix = "Use a processor (or a processor type of the virtual machine) with AVX.",
    .explains = "crash-loop framework-bug insufficient-evidence",
    .any_vendor = true,
    .find = find,
};

}  // namespace headroom::findings
