// SPDX-License-Identifier: Apache-2.0
// torchao-incompatible: torchao, or torchtune on top of it, does not fit the installed torch. Each
// release needs certain releases of torch; the error appears wherever a library imports torchao.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "findings/causes/causes.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// torchao uses low-bit types that older releases of torch do not have.
bool is_low_bit_type(std::string_view name) {
  for (const std::string_view head : {"int", "uint", "float8", "float4"}) {
    if (!name.starts_with(head)) continue;
    const std::string_view bits = name.substr(head.size());
    const bool few = bits.size() == 1 && bits[0] >= '1' && bits[0] <= '7';
    if (few || head.starts_with("float")) return true;
  }
  return false;
}

bool is_of_torchao(std::string_view path) {
  std::string whole(path);
  std::replace(whole.begin(), whole.end(), '\\', '/');
  return whole.find("/torchao/") != std::string::npos ||
         whole.find("_torchao.py") != std::string::npos ||
         whole.find("/torchtune/") != std::string::npos;
}

// Finds a frame of torchao or torchtune, or of a library's module that wraps it, shortly before an
// import error.
const Observation* find_frame(const LogSubject& subject, const Observation& error) {
  for (const Observation* frame : subject.log.of("traceback-frame")) {
    const bool near =
        frame->log == error.log && frame->line < error.line && error.line - frame->line < 12;
    if (near && is_of_torchao(frame->value("path"))) return frame;
  }
  return nullptr;
}

// Finds an exception during the import of torchao itself, whatever its message: torchao's modules
// use names that this torch does not have.
const Observation* fails_to_import(const LogSubject& subject) {
  for (const Observation* error : subject.log.of("python-exception")) {
    bool usual = false;
    for (const std::string_view type : {"AttributeError", "ImportError", "ModuleNotFoundError",
                                        "NameError", "TypeError", "RuntimeError"}) {
      usual = usual || error->value("type") == type;
    }
    const Observation* frame = usual ? find_frame(subject, *error) : nullptr;
    if (frame == nullptr) continue;
    // IPython names no function for a module's own lines.
    const std::string_view function = frame->value("function");
    if (function == "<module>" || function.empty()) return error;
  }
  return nullptr;
}

// torchtune is written on torchao; other libraries import it only where it is installed.
bool needs_torchao(const LogSubject& subject) {
  for (const char* id : {"traceback-frame", "module-missing", "import-name-missing"}) {
    for (const Observation* one : subject.log.of(id)) {
      if (one->text.find("torchtune") != std::string::npos) return true;
    }
  }
  return false;
}

// Finds the error of an import where it is told that it works without torchao, and fails once that
// is installed: libraries import it where it is there, and it asks for parts of torch at its start.
const Observation* fails_once_added(const LogSubject& subject) {
  for (const Observation* added : subject.log.of("package-added-told")) {
    static const RE2 cured(
        R"((?i)\b(?:no (?:longer|more)|not|n't|without|fix\w*|gone|away|works?)\b)");
    const std::string then(added->value("then"));
    if (to_lower(added->value("added")) != "torchao") continue;
    if (RE2::PartialMatch(then, cured)) continue;
    return subject.log.first_of({"distributed-missing", "import-name-missing", "module-missing",
                                 "torch-attribute-missing", "python-exception"});
  }
  return nullptr;
}

std::vector<Step> steps_to_a_pair(const LogSubject& subject) {
  std::vector<Step> steps = {
      command("pip list | grep -iE '^(torch|torchao|torchtune|transformers|diffusers) '"),
      sentence(
          "Choose a compatible pair (see pytorch/ao#2919): torch 2.5 to 2.7 with torchao 0.12, 2.8 "
          "with 0.13, 2.9 with 0.14")};
  if (needs_torchao(subject)) {
    steps.push_back(
        sentence("Keep torchao, because torchtune imports it. If no torchao works with this torch, "
                 "train without torchtune, for instance with transformers and PEFT: pip uninstall "
                 "torchtune torchao"));
  } else {
    steps.push_back(
        sentence("Or remove it, unless one of your programs imports torchao itself, as torchtune "
                 "does. transformers and diffusers work without it: pip uninstall torchao"));
  }
  return steps;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const Observation* seen = subject.log.first("torchao-import-failed");
  double confidence = 0.9;
  if (seen == nullptr) {
    for (const char* id : {"torch-attribute-missing", "import-name-missing"}) {
      const Observation* error = subject.log.first(id);
      if (error == nullptr) continue;
      const bool from_torchao = find_frame(subject, *error) != nullptr;
      const bool low_bit = is_low_bit_type(error->value("name"));
      if (!from_torchao && !low_bit) continue;
      // Other libraries use these types too. Where the GPU is of no concern to this program, a
      // traceback without torchao in it is theirs.
      const bool is_traced = subject.log.seen("traceback-frame");
      if (!from_torchao && is_traced && subject.scene.is_foreign()) continue;
      seen = error;
      confidence = from_torchao ? 0.93 : error->value("name").starts_with("float") ? 0.5 : 0.9;
      break;
    }
  }
  if (seen == nullptr) {
    seen = fails_to_import(subject);
    confidence = 0.9;
  }
  if (seen == nullptr) {
    seen = fails_once_added(subject);
    confidence = 0.85;
  }
  if (seen == nullptr) return std::nullopt;
  Hypothesis ao;
  ao.confidence = confidence;
  ao.title = subject.scene.torch
                 ? fmt::format("torchao does not work with torch {}", *subject.scene.torch)
                 : "torchao does not work with the installed torch";
  ao.reasons.emplace_back(
      "Each torchao release supports two or three releases of torch, and uses names that others do "
      "not have.");
  ao.evidence.push_back(show(subject, *seen, logs::describe(*seen)));
  if (subject.scene.torch) ao.evidence.push_back(show(subject.scene.torch, "the torch in use"));
  ao.fix = steps_to_a_pair(subject);
  return ao;
}

}  // namespace

constinit const CauseRule torchao_incompatible_cause = {
    .id = "torchao-incompatible",
    .meaning = "torchao or torchtune does not work with the installed torch.",
    .why =
        "transformers and diffusers import torchao if it is installed, so their imports fail "
        "although nobody uses it. This happens with every vendor's GPU.",
    .fix =
        "Install compatible versions of torch and torchao, or remove torchao if nothing needs it.",
    .explains = "app-bug framework-bug missing-library backend-unavailable",
    .any_vendor = true,
    .find = find,
};

}  // namespace headroom::findings
