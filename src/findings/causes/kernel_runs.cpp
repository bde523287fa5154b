// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/kernel_runs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "facts/kernel_text.h"
#include "findings/causes/recovery.h"
#include "findings/causes/typed_runs.h"

namespace headroom::findings {
namespace {

using knowledge::Role;
using logs::Observation;
using logs::Observations;

std::pair<std::uint64_t, std::uint64_t> place(const Observation& one) {
  return {one.log, one.line};
}

// The release that a typed uname printed.
std::string release_printed(const Observation& one) {
  if (!is_command(one) || one.text.find("uname -") == std::string::npos) return "";
  constexpr std::size_t first_lines = 2;
  for (std::size_t i = 0; i < std::min(first_lines, one.output.size()); ++i) {
    for (const std::string_view word : split_words(trim(one.output[i]))) {
      if (facts::parse_kernel_version(word)) return std::string(word);
    }
  }
  return "";
}

// Commands that look at the machine, and work whatever state the GPU is in.
bool only_looks(std::string_view program) {
  constexpr std::array lookers = {"uname", "rpm",        "dpkg",   "cat",    "ls",
                                  "grep",  "dmesg",      "id",     "sudo",   "lspci",
                                  "apt",   "journalctl", "git",    "pacman", "lsmod",
                                  "dnf",   "echo",       "reboot", "groups", "env"};
  const std::string_view first = program.substr(0, program.find(' '));
  return std::find(lookers.begin(), lookers.end(), first) != lookers.end();
}

std::vector<KernelRun> kernels_told(const Observations& log) {
  std::vector<const Observation*> ordered;
  for (const Observation& one : log.all()) ordered.push_back(&one);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto* a, const auto* b) { return place(*a) < place(*b); });
  std::vector<KernelRun> runs;
  for (const Observation* one : ordered) {
    std::string release = release_printed(*one);
    if (release.empty()) continue;
    if (runs.empty() || runs.back().release != release) runs.push_back({release, one, {}, {}});
  }
  return runs;
}

}  // namespace

std::vector<KernelRun> find_kernel_runs(const Observations& log) {
  std::vector<KernelRun> runs = kernels_told(log);
  if (runs.size() < 2) return runs;
  const std::vector<TypedRun> typed = find_typed_runs(log);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    KernelRun& run = runs[i];
    const auto is_of_it = [&](const Observation& one) {
      return place(one) >= place(*run.told) &&
             (i + 1 == runs.size() || place(one) < place(*runs[i + 1].told));
    };
    for (const Observation& one : log.all()) {
      if (!is_of_it(one)) continue;
      if (is_failure(log, one) && !is_vague(one) && run.failure == nullptr) run.failure = &one;
      if (one.signature->role == Role::progress) run.work = &one;
    }
    for (const TypedRun& one : typed) {
      if (is_of_it(*one.command) && one.is_quiet && !only_looks(one.program)) {
        run.work = one.command;
      }
    }
    if (run.failure != nullptr) run.work = nullptr;
  }
  return runs;
}

std::optional<KernelComparison> compare_kernels(const Observations& log) {
  const std::vector<KernelRun> runs = find_kernel_runs(log);
  std::optional<KernelComparison> found;
  for (const KernelRun& bad : runs) {
    if (bad.failure == nullptr) continue;
    for (const KernelRun& good : runs) {
      if (good.work == nullptr) continue;
      if (good.release == bad.release) return std::nullopt;
      const bool newer =
          facts::parse_kernel_version(good.release) > facts::parse_kernel_version(bad.release);
      if (!found || (newer && !found->newer_works)) found = KernelComparison{bad, good, newer};
    }
  }
  return found;
}

}  // namespace headroom::findings
