// SPDX-License-Identifier: Apache-2.0
// framework-bug: the framework itself is at fault: an assertion of its own, a crash of its kernel
// compiler, an error of its library, or a Python error whose innermost frame is in its own code.
// Many better-named causes end in the same lines, so it is never sure.
#include <fmt/format.h>

#include "findings/causes/causes.h"
#include "findings/causes/crash_signs.h"
#include "findings/causes/raised_in.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

struct Sign {
  const Observation* line = nullptr;
  double confidence = 0;
  std::string title;
};

// Whether the error is a mistake that a user's wrong argument normally cannot cause.
bool is_slip(const Observation& error) {
  const std::string_view type = error.value("type");
  const std::string_view message = error.value("message");
  // Such a message shows two packages that do not fit together, not a fault of one.
  const bool misfit = message.starts_with("module '") || message.starts_with("type object '");
  for (const std::string_view slip : {"AttributeError", "UnboundLocalError", "NameError",
                                      "IndexError", "RecursionError", "AssertionError"}) {
    if (type == slip) return !misfit;
  }
  return false;
}

// Finds a Python error that the framework's own code raised, or code that it generated.
Sign error_within(const logs::Observations& log) {
  Sign best;
  for (const char* id : {"python-exception", "python-bare-exception"}) {
    for (const Observation* error : log.of(id)) {
      const CodeOwner owner = raised_in(log, *error).owner;
      const bool generated = owner == CodeOwner::generated;
      if (!generated && owner != CodeOwner::framework) continue;
      if (!generated && !is_slip(*error) && !is_wrong_call(*error)) continue;
      const double confidence = generated               ? 0.75
                                : is_wrong_call(*error) ? 0.6
                                                        : confidence::possible;
      if (confidence <= best.confidence) continue;
      best = {error, confidence,
              fmt::format(
                  "A Python error inside {}: {}",
                  generated ? "the code that PyTorch's compiler wrote" : "the framework's own code",
                  error->value("type"))};
    }
  }
  return best;
}

// Finds a missing function, outside any namespace, that the library itself calls and no other
// library would define: it was declared for this build, but its source was left out.
Sign own_symbol_missing(const logs::Observations& log) {
  const Observation* missing = log.first("symbol-missing");
  if (missing == nullptr) return {};
  const std::string_view symbol = missing->value("symbol");
  const bool of_its_own = symbol.size() > 3 && symbol.starts_with("_Z") && symbol[2] >= '0' &&
                          symbol[2] <= '9' && symbol.find("hip") == std::string_view::npos;
  if (!of_its_own || !missing->value("library").starts_with("_")) return {};
  return {missing, confidence::possible,
          fmt::format("{} was built without one of its own functions", missing->value("library"))};
}

// Finds a framework that refuses a GPU although its own list of targets has it, because two names
// in the list have run together.
Sign list_with_a_slip(const logs::Observations& log) {
  for (const Observation* refused : log.of("tensorflow-target-ignored")) {
    const std::string_view gfx = refused->value("gfx");
    const std::string_view listed = refused->value("built_for");
    const std::size_t at = listed.find(gfx);
    if (gfx.empty() || at == std::string_view::npos) continue;
    const std::size_t end = at + gfx.size();
    const auto is_of_name = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); };
    const bool glued_before = at > 0 && is_of_name(listed[at - 1]);
    const bool glued_behind = listed.substr(end).starts_with("gfx");
    if (!glued_before && !glued_behind) continue;
    return {
        refused, 0.82,
        fmt::format("The framework's own list of GPUs has a mistake at {}, and refuses it", gfx)};
  }
  return {};
}

// Finds a failure for memory that an earlier release of the program is said not to have had.
Sign regressed(const logs::Observations& log) {
  const Observation* said = log.first("program-regressed");
  const Observation* refused = log.first_of(
      {"hip-oom", "ggml-oom", "ggml-error-oom", "torch-oom", "torch-oom-short", "vllm-no-blocks"});
  if (said == nullptr || refused == nullptr) return {};
  return {refused, 0.55, "An earlier release of the program is said to run the same job"};
}

Sign strongest(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  if (Sign slip = list_with_a_slip(log); slip.line != nullptr) return slip;
  const bool admitted = log.seen("report-a-bug");
  if (const auto* line = log.first("internal-assert")) {
    const std::string_view where = line->value("where");
    const bool of_allocator = where.find("Allocator") != std::string_view::npos;
    return {line, of_allocator ? 0.6 : 0.8,
            fmt::format("An internal assertion of PyTorch failed{}",
                        where.empty() ? std::string() : fmt::format(" ({})", where))};
  }
  if (const auto* line = log.first("kernel-compiler-crash")) {
    // The line may also pass on a failure from trying out kernels.
    const bool passed_on = line->text.find("OutOfMemory") != std::string::npos ||
                           line->text.find("out of memory") != std::string::npos;
    return {line, passed_on ? 0.3 : admitted ? 0.75 : 0.65, "The compiler of GPU kernels failed"};
  }
  if (Sign newer = regressed(log); newer.line != nullptr) return newer;
  if (const auto* line = log.first("vulkan-allocation-limit")) {
    return {line, 0.55, "The program asks Vulkan for one buffer larger than it may be"};
  }
  if (const auto* line = log.first("ggml-assert")) {
    return {line, 0.55, "An assertion of ggml failed"};
  }
  if (const auto* line = log.first("c-assert")) {
    return {line, 0.55, "An assertion of a library failed"};
  }
  // If the process is restarted again and again, crash-loop is the better name.
  const bool loops = log.any_of({"worker-killed", "restarted"});
  if (const auto* line = log.first("crash-frame"); line && log.any_of({"segfault", "aborted"})) {
    const std::string library(line->value("library").empty() ? line->value("mapped")
                                                             : line->value("library"));
    return {line, loops ? 0.4 : confidence::possible, fmt::format("A crash inside lib{}", library)};
  }
  if (const auto* line = log.first("heap-corruption")) {
    return {line, loops ? 0.4 : confidence::possible, "A library destroyed the process's memory"};
  }
  if (Sign within = error_within(log); within.line != nullptr) return within;
  if (Sign own = own_symbol_missing(log); own.line != nullptr) return own;
  if (const auto* line = log.first("hip-invalid-call")) {
    return {line, 0.45,
            fmt::format("The framework made a call that HIP refuses: {}", line->value("error"))};
  }
  if (const auto* line = log.first("library-internal-error")) {
    return {line, 0.45, "A library of ROCm reports an error of its own"};
  }
  if (const auto* line = log.first("report-a-bug")) {
    return {line, 0.4, "The program itself calls it a bug of its own"};
  }
  return {};
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  Sign sign = strongest(subject);
  if (sign.line == nullptr) return std::nullopt;
  Hypothesis bug;
  bug.confidence = sign.confidence;
  bug.title = std::move(sign.title);
  bug.reasons.emplace_back(
      "It arises in the framework's own code; nothing here points to the set-up, the driver or the "
      "program that uses it.");
  bug.evidence.push_back(show(subject, *sign.line, logs::describe(*sign.line)));
  show_some(subject, {"report-a-bug", "framework-frame", "crash-frame"}, 2, bug);
  bug.fix = {sentence("try the framework's next release, or its nightly build"),
             sentence("make the smallest program that shows it, and report it with: python -m "
                      "torch.utils.collect_env")};
  const bool generated = raised_in(subject.log, *sign.line).owner == CodeOwner::generated;
  if (generated || subject.log.seen("kernel-compiler-crash")) {
    bug.fix.insert(bug.fix.begin(),
                   sentence("until then run without the compiler: TORCH_COMPILE_DISABLE=1"));
  }
  const bool of_allocator = sign.line->value("where").find("Allocator") != std::string_view::npos;
  if (of_allocator) {
    bug.alternatives.push_back({"unsupported-option", 0.35,
                                "env -u PYTORCH_HIP_ALLOC_CONF -u PYTORCH_CUDA_ALLOC_CONF CMD"});
  }
  bug.alternatives.push_back(
      {"rocm-regression", 0.25, "run the same program with the ROCm release before this one"});
  bug.alternatives.push_back(
      {"gfx-target-missing", 0.2, "python -c 'import torch; print(torch.cuda.get_arch_list())'"});
  return bug;
}

}  // namespace

constinit const CauseRule framework_bug_cause = {
    .id = "framework-bug",
    .meaning = "A fault inside the framework's own code.",
    .why =
        "Neither the set-up nor the driver nor the program is wrong, so changing them costs time "
        "and mends nothing; another release of the framework may.",
    .fix = "Try another release, and report the smallest program that shows it.",
    .explains = "app-bug crash-loop",
    .find = find,
};

}  // namespace headroom::findings
