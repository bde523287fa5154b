// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/recovery.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "findings/causes/exception_chain.h"

namespace headroom::findings {
namespace {

using knowledge::Role;
using logs::Observation;
using logs::Observations;

constexpr std::array finishes = {"training-finished", "checkpoint-saved", "output-saved",
                                 "tests-passed",      "exit-zero",        "rccl-test-done"};
// These observations show a result of the GPU itself.
constexpr std::array gpu_results = {"gpu-device-created", "torch-sees-gpu", "tensor-on-gpu",
                                    "vllm-throughput", "llama-timings"};

template <class Ids>
bool is_one_of(const Ids& ids, std::string_view id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// Whether two lines are of one run: they are in the same log, and nothing shows that two programs
// wrote them.
bool same_run(const Observation& a, const Observation& b) {
  return a.log == b.log && (a.origin == b.origin || a.origin.empty() || b.origin.empty());
}

// Whether the failure is of a kind that programs report and then do without.
bool is_of_something_optional(const Observation& failure) {
  for (const std::string_view word :
       {"ImportError", "ModuleNotFoundError", "No module named", "cannot import", "ailed to import",
        "cannot open shared object", "undefined symbol"}) {
    if (failure.text.find(word) != std::string::npos) return true;
  }
  return false;
}

// What has to follow so that a failure counts as made up for: any progress, further work, or the
// end of the work; `never` if nothing is enough.
enum class Needs { progress, work, end, never };

// Whether the line is of the error that bitsandbytes writes to its log, its traceback included,
// before it goes on without the library.
bool is_logged_by_bitsandbytes(const Observations& log, const Observation& failure) {
  constexpr std::uint64_t longest_traceback = 40;
  const bool begins = failure.id() == "traceback";
  return std::any_of(log.all().begin(), log.all().end(), [&](const Observation& one) {
    if (one.log != failure.log || !one.id().starts_with("bitsandbytes-")) return false;
    if (one.line == failure.line) return true;
    return begins && one.line > failure.line && one.line - failure.line < longest_traceback;
  });
}

Needs needs(const Observations& log, const Observation& failure) {
  const std::string& id = failure.id();
  if (is_logged_by_bitsandbytes(log, failure)) return Needs::progress;
  if (id == "traceback" || is_vague(failure)) return Needs::work;
  if (failure.signature->role != Role::failure) return Needs::never;
  if (failure.is_remark() || !failure.signature->causes.empty()) return Needs::progress;
  if (is_of_something_optional(failure)) return Needs::work;
  return id == "python-exception" ? Needs::end : Needs::never;
}

// Whether a server raised the error over a request that was wrong, which it answers with 4xx.
bool is_refused_to_a_client(const Observations& log, const Observation& failure) {
  if (failure.id() != "python-exception" && failure.id() != "traceback" && !is_vague(failure)) {
    return false;
  }
  constexpr std::uint64_t near = 3;
  const auto refused = log.of("request-refused");
  return std::any_of(refused.begin(), refused.end(), [&](const Observation* one) {
    return one->log == failure.log && one->line > failure.line && one->line - failure.line <= near;
  });
}

// Whether the line reports that WSL lacks what it never has.
bool is_normal_in_wsl(const Observations& log, const Observation& failure) {
  const auto is_of_linux = [](const Observation& one) {
    return one.id() == "kfd-absent" || one.id() == "module-not-loaded" ||
           one.id() == "no-driver-version-file";
  };
  if (!is_of_linux(failure) && !is_vague(failure)) return false;
  const bool told = std::any_of(log.all().begin(), log.all().end(), [&](const Observation& one) {
    return one.log == failure.log && one.line == failure.line && is_of_linux(one);
  });
  return told && is_reached_in_wsl(log);
}

// rocminfo asks lsmod for the module, which a foreign module can upset. It reaches a GPU through
// the driver alone, so where it lists one right after, the driver is there (legacy#1227).
bool is_listed_all_the_same(const Observations& log, const Observation& failure) {
  static const RE2 by_rocminfo(R"(ROCk module is NOT loaded)");
  if (failure.id() != "module-not-loaded" || !RE2::PartialMatch(failure.text, by_rocminfo)) {
    return false;
  }
  for (const Observation& one : log.all()) {
    if (one.log != failure.log || one.line <= failure.line) continue;
    if (is_command(one)) return false;
    if (one.id() == "agent-name") return true;
  }
  return false;
}

// Whether another signature knows the same line as harmless.
bool is_known_as_harmless(const Observations& log, const Observation& failure) {
  // rocminfo looks for a module; a driver that is built into the kernel is none.
  if (failure.id() == "module-not-loaded" && log.seen("kfd-added")) return true;
  if (is_listed_all_the_same(log, failure)) return true;
  if (is_refused_to_a_client(log, failure) || is_normal_in_wsl(log, failure)) return true;
  const bool doubtful = is_vague(failure) || failure.id() == "python-exception";
  return std::any_of(log.all().begin(), log.all().end(), [&](const Observation& one) {
    if (one.log != failure.log || one.line != failure.line) return false;
    const Role role = one.signature->role;
    return role == Role::noise || (doubtful && role == Role::hint);
  });
}

}  // namespace

bool is_command(const Observation& one) {
  return one.signature->role == Role::command || one.id() == "command-typed";
}

bool is_vague(const Observation& failure) {
  return failure.id() == "unknown-error-line" || failure.id() == "system-error";
}

bool is_failure(const Observations& log, const Observation& one) {
  const Role role = one.signature->role;
  if (role != Role::failure && role != Role::consequence) return false;
  return !is_known_as_harmless(log, one);
}

bool is_made_up_for(const Observations& log, const Observation& failure) {
  const Needs needed = needs(log, failure);
  if (needed == Needs::never) return false;
  std::uint64_t next_command = ~std::uint64_t{0};
  for (const Observation& one : log.all()) {
    if (is_command(one) && one.log == failure.log && one.line > failure.line) {
      next_command = std::min(next_command, one.line);
    }
  }
  return std::any_of(log.all().begin(), log.all().end(), [&](const Observation& one) {
    if (one.line <= failure.line || one.line > next_command) return false;
    if (!same_run(failure, one)) return false;
    return is_one_of(finishes, one.id()) ||
           (needed == Needs::work &&
            (one.id() == "training-step" || is_one_of(gpu_results, one.id()))) ||
           (needed == Needs::progress && one.signature->role == Role::progress);
  });
}

bool is_made_up_for(const LogSubject& subject, const Hypothesis& hypothesis) {
  bool any = false;
  for (const Evidence& evidence : hypothesis.evidence) {
    const auto log = log_of(subject, evidence);
    if (!log) continue;
    for (const Observation& one : subject.log.all()) {
      if (one.log != *log || static_cast<int>(one.line) != evidence.line) continue;
      if (is_refused_to_a_client(subject.log, one)) {
        any = true;
        continue;
      }
      if (!is_failure(subject.log, one)) continue;
      if (!is_made_up_for(subject.log, one)) return false;
      any = true;
    }
  }
  return any;
}

const Observation* standing_failure(const Observations& log) {
  const Observation* last = nullptr;
  for (const Observation& one : log.all()) {
    if (!is_failure(log, one) || is_made_up_for(log, one)) continue;
    if (last == nullptr || std::pair(last->log, last->line) < std::pair(one.log, one.line)) {
      last = &one;
    }
  }
  return last;
}

bool is_at_work(const Observations& log) {
  const Observation* begun = log.last("prompt-started");
  if (begun == nullptr) return false;
  bool goes_on = false;
  for (const Observation& one : log.all()) {
    const bool behind = one.log == begun->log && one.line > begun->line;
    goes_on |= behind;
    if (behind && (one.id() == "prompt-executed" || is_one_of(finishes, one.id()))) return false;
  }
  // One job ended well, and the text ends where the next one begins.
  if (!goes_on && log.seen("prompt-executed")) return false;
  return log.count_of("prompt-started") > log.count_of("prompt-executed");
}

const Observation* computed_on_gpu(const Observations& log) {
  static const RE2 number(R"((?:True )?-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)");
  for (const Observation* asked : log.of("gpu-work-typed")) {
    for (const std::string& line : asked->output) {
      if (line.find("Traceback") != std::string::npos) break;
      const std::string_view printed = trim(line);
      if (RE2::FullMatch(re2::StringPiece(printed.data(), printed.size()), number)) return asked;
    }
  }
  return nullptr;
}

bool is_reached_in_wsl(const Observations& log) {
  // What is reached outside of a container says nothing about its inside.
  if (!log.seen("wsl-words") || log.any_of({"engine-lacks-kfd", "container-command"})) return false;
  return log.seen("agent-name") || computed_on_gpu(log) != nullptr;
}

bool did_its_work(const Observations& log) {
  if (computed_on_gpu(log) != nullptr) return true;
  return std::any_of(log.all().begin(), log.all().end(), [](const Observation& one) {
    return is_one_of(finishes, one.id()) || is_one_of(gpu_results, one.id());
  });
}

}  // namespace headroom::findings
