// SPDX-License-Identifier: Apache-2.0
// app-bug: a plain Python error that has nothing to do with GPUs, drivers or libraries: a name that
// does not exist, a wrong argument, shapes that do not fit, a missing file; or a leak, which
// growth.h tells from a job that is too big. The innermost frame
// tells whose code raised it. Never more than likely: the same exception may follow from something
// that failed before.
#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "findings/causes/causes.h"
#include "findings/causes/growth.h"
#include "findings/causes/launch_times.h"
#include "findings/causes/pip_search.h"
#include "findings/causes/program_flow.h"
#include "findings/causes/raised_in.h"

namespace headroom::findings {
namespace {

using logs::Observation;

bool is_of_others(CodeOwner owner) {
  return owner != CodeOwner::user && owner != CodeOwner::unknown;
}

// How sure it is that an exception of this type is a mistake in the program, by whose code raised
// it.
double weigh(std::string_view type, CodeOwner owner) {
  if (owner == CodeOwner::generated) return 0.2;
  for (const std::string_view sure : {"NameError", "SyntaxError", "IndentationError", "TabError",
                                      "UnboundLocalError", "ZeroDivisionError"}) {
    if (type == sure) return is_of_others(owner) ? 0.5 : 0.85;
  }
  for (const std::string_view usual :
       {"TypeError", "KeyError", "IndexError", "FileNotFoundError", "NotADirectoryError",
        "JSONDecodeError", "ValueError", "AttributeError", "AssertionError", "RecursionError",
        "UnicodeDecodeError", "IsADirectoryError", "FileExistsError", "StopIteration"}) {
    if (type != usual) continue;
    return owner == CodeOwner::user ? 0.75 : owner == CodeOwner::unknown ? 0.55 : 0.4;
  }
  return 0;
}

// Whether a public name is asked for that a module does not have. The name is the program's, even
// if it is "rocm". Names that begin with "_" come and go with a build's parts.
bool names_public_attribute(const Observation& error) {
  static const RE2 absent(R"(module '[a-z][\w.]*' has no attribute '([A-Za-z]\w*)')");
  static const RE2 of_a_part(R"(module '[\w.]*\._)");
  return error.value("type") == "AttributeError" && RE2::PartialMatch(error.text, absent) &&
         !RE2::PartialMatch(error.text, of_a_part);
}

// Frameworks also use these types of exception to report on memory and devices.
bool speaks_of_the_gpu(const Observation& error) {
  if (names_public_attribute(error)) return false;
  const std::string_view told = error.value("message");
  const std::string message = to_lower(told.empty() ? error.text : told);
  for (const std::string_view word :
       {"memory", "gpu", "cuda", "hip", "rocm", "device", "gfx", "/dev/"}) {
    if (message.find(word) != std::string::npos) return true;
  }
  return false;
}

// Finds an import of a name from a package that has no part in the GPU's software.
const Observation* name_of_plain_package(const logs::Observations& log) {
  static const RE2 plain(
      R"((?:transformers|diffusers|peft|accelerate|datasets|tokenizers|huggingface_hub|gradio|pydantic|numpy|scipy|PIL|cv2|typing_extensions|jinja2|fastapi|starlette|trl|timm|omegaconf|k_diffusion|basicsr)(?:\.[\w.]+)?)");
  for (const Observation* one : log.of("import-name-missing")) {
    const std::string_view module = one->value("module");
    if (RE2::FullMatch({module.data(), module.size()}, plain)) return one;
  }
  return nullptr;
}

struct Slip {
  const Observation* seen = nullptr;
  double confidence = 0;
  std::string title;
};

void take(Slip& best, const Observation* seen, double confidence, std::string title) {
  if (seen != nullptr && confidence > best.confidence) best = {seen, confidence, std::move(title)};
}

Slip find_slip(const LogSubject& subject) {
  Slip best;
  for (const char* id : {"python-exception", "python-bare-exception"}) {
    for (const Observation* error : subject.log.of(id)) {
      const CodeOwner owner = raised_in(subject.log, *error).owner;
      double weight = weigh(error->value("type"), owner);
      // The framework itself made the call.
      if (owner == CodeOwner::framework && is_wrong_call(*error)) weight = 0.3;
      take(best, error, speaks_of_the_gpu(*error) ? weight * 0.6 : weight,
           fmt::format("A Python error in the program: {}", error->value("type")));
    }
  }
  for (const Observation* seen : subject.log.of("raised-at-place")) {
    // Who raises it says that the case is not provided for in this very file (Python's library
    // reference: NotImplementedError).
    if (seen->value("type") != "NotImplementedError") continue;
    if (is_of_others(owner_of_path(seen->value("file")))) continue;
    take(best, seen, confidence::possible,
         "The program says itself that it is not made for this case");
  }
  take(best, subject.log.first("shapes-differ"), 0.82,
       "Tensor shapes in the program or in the checkpoint do not match");
  take(best, subject.log.first("device-mixed"), 0.72,
       "The program mixes tensors of two devices or types");
  take(best, subject.log.first("device-assertion"), 0.75,
       "The program uses an index that is out of range in a kernel");
  for (const Observation* seen : subject.log.of("wrong-usage")) {
    take(best, seen, speaks_of_the_gpu(*seen) ? 0.3 : 0.55, "A file or an argument is wrong");
  }
  take(best, subject.log.first("model-not-found"), 0.75,
       "A model file is not where the program looks for it");
  take(best, subject.log.first("model-file-broken"), 0.6,
       "A model file is damaged, or of a kind that the program does not support");
  take(best, subject.log.first("address-in-use"), 0.6,
       "The port is in use: another server, or an earlier run of this one, listens there");
  take(best, name_of_plain_package(subject.log), 0.5,
       "Two Python packages are incompatible: a name is not where one of them looks for it");
  take(best, lookup_cut_off(subject.log), 0.55,
       "The program uses a name that the library does not have");
  for (const Observation* seen : subject.log.of("pip-no-version")) {
    if (!asked_for_what_is_gone(*seen)) continue;
    take(best, seen, 0.6, "A requirement names versions that the package index no longer has");
  }
  for (const Observation* seen : subject.log.of("module-missing")) {
    take(best, seen, 0.3, fmt::format("A module was not found: {}", seen->value("module")));
  }
  return best;
}

// A kernel that the author wrote himself, and that reads or writes where nothing is mapped.
std::optional<Hypothesis> find_own_kernel(const LogSubject& subject) {
  const Observation* own = subject.log.first("own-kernels-told");
  const Observation* fault = subject.log.first_of({"memory-access-fault", "hip-illegal-access"});
  if (own == nullptr || fault == nullptr || subject.log.seen("traceback")) return std::nullopt;
  Hypothesis bug;
  bug.confidence = 0.6;
  bug.title = "A kernel of the program itself reads or writes outside of its memory";
  bug.reasons = {
      "The kernels are the author's own, and one of them accesses an address that is not mapped.",
      "A guard may not guard: select() and a ?: on vectors evaluate both sides, so an index that "
      "is out of range is read all the same."};
  bug.evidence = {show(subject, *fault), show(subject, *own, "whose kernels they are")};
  bug.fix = {sentence("Check each index before it is used, with if/else, also those of threads "
                      "beyond the end."),
             look("AMD_SERIALIZE_KERNEL=3 AMD_LOG_LEVEL=3 CMD", "(which kernel it is)")};
  bug.alternatives = {{"framework-bug", 0.2, "the same kernel with the compiler's -O0"},
                      {"gpu-hang", 0.15, "a program of somebody else's on the same GPU"}};
  return bug;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  if (auto own = find_own_kernel(subject)) return own;
  if (auto launched = find_launch_times(subject)) return launched;
  const Slip slip = find_slip(subject);
  auto leak = find_leak(subject);
  if (slip.seen == nullptr || (leak && leak->confidence >= slip.confidence)) return leak;
  Hypothesis bug;
  bug.confidence = slip.confidence;
  if (follows_another_failure(subject.log, *slip.seen)) bug.confidence *= 0.6;
  if (goes_on_after(subject.log, *slip.seen)) bug.confidence *= 0.7;
  bug.title = slip.title;
  bug.evidence.push_back(show(subject, *slip.seen));
  const RaisedIn raised = raised_in(subject.log, *slip.seen);
  if (raised.frame != nullptr) {
    bug.evidence.push_back(show(subject, *raised.frame, "where it was raised"));
  }
  bug.reasons.emplace_back(is_of_others(raised.owner)
                               ? "A library raised it because of what the program passed to it. "
                                 "The GPU's software is not involved."
                               : "The program's own code raised it, not the GPU's software.");
  bug.fix.push_back(
      sentence("Fix the line that the last \"File …, line …\" of the traceback names."));
  bug.alternatives = {{"framework-bug", is_of_others(raised.owner) ? 0.3 : 0.05,
                       "the same program on the CPU: HIP_VISIBLE_DEVICES=\"\""}};
  return bug;
}

}  // namespace

constinit const CauseRule app_bug_cause = {
    .id = "app-bug",
    .meaning = "The user's program raises a Python error, or keeps some memory of each step.",
    .why = "The GPU's software is not at fault. Changing it costs time and does not help.",
    .fix =
        "Read the traceback's last lines and fix the program. If memory grows with each step, look "
        "for objects that outlive a step.",
    .explains = "",
    .find = find,
};

}  // namespace headroom::findings
