// SPDX-License-Identifier: Apache-2.0
// unsupported-option: a program is forced to use an option, a number format or a back-end that this
// build or this GPU does not have. A warning with an automatic fallback is no failure.
#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "findings/causes/aiter.h"
#include "findings/causes/cache_advice.h"
#include "findings/causes/causes.h"
#include "findings/causes/hipblaslt.h"
#include "findings/causes/raised_in.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

struct Form {
  const char* id;
  double confidence;
  std::string_view title;
  Step::Kind kind;  // Of the fix.
  std::string_view fix;
};

constexpr Form forms[] = {
    {"allocator-option-unknown", 0.86, "PyTorch's allocator does not support an option that is set",
     Step::Kind::sentence,
     "unset PYTORCH_CUDA_ALLOC_CONF PYTORCH_HIP_ALLOC_CONF PYTORCH_ALLOC_CONF, or take a newer "
     "PyTorch"},
    {"hipblaslt-refused", 0.88, "hipBLASLt is forced on a GPU that it does not support",
     Step::Kind::command, "export TORCH_BLAS_PREFER_HIPBLASLT=0 ROCBLAS_USE_HIPBLASLT=0"},
    {"hipblaslt-without-kernel", 0.6, "hipBLASLt has no kernel for this operation on this GPU",
     Step::Kind::command, "export TORCH_BLAS_PREFER_HIPBLASLT=0 ROCBLAS_USE_HIPBLASLT=0"},
    {"type-unsupported", 0.82, "The job uses a number format that this GPU does not support",
     Step::Kind::sentence, "Use weights in bf16, fp16 or int8 instead of fp8 or fp4."},
    {"attention-forced", 0.7, "The forced attention back-end has no kernel here",
     Step::Kind::sentence,
     "Let PyTorch choose: leave out sdpa_kernel(…) and attention options. On some GPUs "
     "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1 adds kernels."},
    {"unsupported-on-rocm", 0.72, "The job uses something that the ROCm build does not have",
     Step::Kind::sentence, "Leave the option out, or use what the message names instead."},
    {"xformers-built-for", 0.45, "The job uses xFormers, which has no kernels for this PyTorch",
     Step::Kind::sentence,
     "Leave --xformers out; PyTorch's own attention works without it: pip uninstall xformers"},
};

// expandable_segments is ignored if it is not supported, so this matters only for fragmentation.
std::optional<Hypothesis> find_expandable(const LogSubject& subject) {
  const Observation* seen = subject.log.first("expandable-segments-refused");
  if (seen == nullptr) return std::nullopt;
  const bool failed = subject.log.first_with(knowledge::Role::failure) != nullptr;
  const bool works = subject.log.first_with(knowledge::Role::progress) != nullptr;
  Hypothesis option;
  option.confidence = !failed && works ? 0.2 : 0.55;
  option.title = "expandable_segments is set, but this PyTorch does not support it on ROCm";
  option.reasons.emplace_back(
      "Builds before PyTorch 2.12 with ROCm 7 ignore it. Memory becomes fragmented as if it were "
      "not set.");
  option.evidence.push_back(show(subject, *seen));
  option.fix = {
      sentence("Remove expandable_segments:True from PYTORCH_HIP_ALLOC_CONF and "
               "PYTORCH_CUDA_ALLOC_CONF"),
      sentence(fmt::format("Use another setting against fragmentation: export {}", split_less()))};
  option.alternatives = {{"fragmentation", 0.3, "the figures of the out-of-memory message"}};
  return option;
}

// Whether a variable of PyTorch's allocator asks for segments that grow, which takes HIP's calls
// for virtual memory.
const facts::Setting* asks_for_growing_segments(const Scene& scene) {
  for (const char* name :
       {"PYTORCH_HIP_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
    const facts::Setting* setting = scene.setting(name);
    if (setting == nullptr) continue;
    const std::string value = to_lower(setting->value);
    if (value.find("expandable_segments:true") != std::string::npos) return setting;
  }
  return nullptr;
}

// PyTorch takes the option, and the job stands still or dies where memory is mapped.
std::optional<Hypothesis> find_stuck_in_mapping(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  const facts::Setting* setting = asks_for_growing_segments(subject.scene);
  const Observation* halt = log.first_of({"said-to-hang", "hang-told"});
  const Observation* mapping = log.first("virtual-memory-call");
  if (setting == nullptr || log.first("said-not-to-hang") != nullptr) return std::nullopt;
  const Observation* died = log.first_of({"segfault", "aborted", "memory-access-fault"});
  // A job may stand still for many reasons, and the option may stand in a plan for tomorrow.
  if (mapping == nullptr || (halt == nullptr && died == nullptr)) return std::nullopt;
  Hypothesis option;
  option.confidence = 0.72;
  option.title = "expandable_segments is set, and the job stands still";
  if (halt == nullptr) option.title = "expandable_segments is set, and the job dies in such a call";
  option.reasons.emplace_back(
      "With it PyTorch maps memory piece by piece. On ROCm that is new, and not every kernel, "
      "runtime "
      "and GPU does it.");
  option.evidence = {show(subject, halt != nullptr ? *halt : *died),
                     show(subject, *mapping, logs::describe(*mapping))};
  const facts::Source& source = setting->source;
  option.evidence.push_back({source.path, source.line, source.text, "what asks for it"});
  option.fix = {
      sentence(
          fmt::format("Run the same job without expandable_segments:True in {}.", setting->name)),
      sentence(fmt::format("Against fragmentation, use instead: export {}", split_less()))};
  option.alternatives = {{"framework-bug", 0.3, "the same job without the option"}};
  return option;
}

// A variable that switches an add-on's kernels on, and the name in the add-on's files.
struct Switch {
  std::string_view setting;  // Matches all that begin with it.
  std::string_view add_on;
};
constexpr Switch switches[] = {
    {"VLLM_ROCM_USE_AITER", "aiter"},
    {"SGLANG_USE_AITER", "aiter"},
    {"ROCBLAS_USE_HIPBLASLT", "hipblaslt"},
    {"TORCH_BLAS_PREFER_HIPBLASLT", "hipblaslt"},
};

bool is_on(std::string_view value) {
  const std::string word = to_lower(trim(value));
  return word == "1" || word == "true" || word == "on" || word == "yes";
}

const facts::Setting* switch_for(const LogSubject& subject, const Observation& refused) {
  const RaisedIn raised = raised_in(subject.log, refused);
  std::string where = to_lower(refused.text);
  if (raised.frame != nullptr) where += to_lower(raised.frame->text);
  for (const facts::Setting& setting : subject.scene.settings) {
    for (const Switch& one : switches) {
      const bool forces = setting.name.starts_with(one.setting) && is_on(setting.value);
      if (forces && where.find(one.add_on) != std::string::npos) return &setting;
    }
  }
  return nullptr;
}

// PyTorch takes hipBLAS instead, and says so each time; the variable that asks for hipBLASLt is
// set.
std::optional<Hypothesis> find_overridden(const LogSubject& subject) {
  const Observation* seen = subject.log.first("hipblaslt-fallback");
  const facts::Setting* setting = subject.scene.setting("TORCH_BLAS_PREFER_HIPBLASLT");
  if (seen == nullptr || setting == nullptr || !is_on(setting->value)) return std::nullopt;
  Hypothesis option;
  option.confidence = 0.76;
  option.title = "TORCH_BLAS_PREFER_HIPBLASLT asks for hipBLASLt, which PyTorch refuses here";
  option.reasons = {
      "PyTorch has a list of GPUs for hipBLASLt, and this one is not in it. It takes hipBLAS "
      "instead, so the job works, without what the variable was set for."};
  option.evidence = {
      show(subject, *seen, logs::describe(*seen)),
      {setting->source.path, setting->source.line, setting->source.text, "what asks for it"}};
  option.fix = {command("unset TORCH_BLAS_PREFER_HIPBLASLT"),
                sentence("Or use a PyTorch whose list has the GPU.")};
  return option;
}

// An add-on says that it has no kernels for this GPU, and a variable asks for the add-on.
std::optional<Hypothesis> find_switched_on(const LogSubject& subject) {
  for (const char* id : {"target-refused", "attention-supports-only"}) {
    for (const Observation* refused : subject.log.of(id)) {
      const facts::Setting* setting = switch_for(subject, *refused);
      if (setting == nullptr) continue;
      Hypothesis option;
      option.confidence = 0.9;
      option.title =
          fmt::format("{} switches on kernels that do not support this GPU", setting->name);
      option.reasons.emplace_back(
          "The add-on has no code for this GPU. Without the variable the program uses other "
          "kernels.");
      option.evidence.push_back(show(subject, *refused, logs::describe(*refused)));
      const facts::Source& source = setting->source;
      option.evidence.push_back({source.path, source.line, source.text, "what switches it on"});
      option.fix = {
          sentence(fmt::format("Set {}=0, or remove it from the environment.", setting->name))};
      option.alternatives = {{"gfx-target-missing", 0.3, "the same job with the variable unset"}};
      return option;
    }
  }
  return std::nullopt;
}

// Whether hipBLASLt has no kernels at all for the GPU: it is built for gfx90a and later of CDNA and
// for gfx11 and gfx12 (ROCm/hipBLASLt: its list of supported targets).
bool is_without_hipblaslt(const LogSubject& subject) {
  const std::string gfx = subject.scene.gfx();
  return gfx.starts_with("gfx8") || gfx.starts_with("gfx10") || gfx.starts_with("gfx900") ||
         gfx.starts_with("gfx906");
}

// Whether the program says in the same line what it takes instead: then nothing is forced.
bool goes_on_otherwise(const Observation& seen) {
  static const RE2 otherwise(
      R"((?i)\b(?:overrid(?:den|ing)|fall(?:s|ing)?[ -]?back|fallback|ignor(?:ed|ing)|disabl(?:ed|ing)|switch(?:ed|ing) (?:to|off)|default(?:s|ing)? to|revert(?:s|ing) to|will (?:use|be used|be set)|(?:using|use[sd]?|set to) \W?[\w.-]+\W? instead|is (?:set|changed|reset) to)\b)");
  return RE2::PartialMatch(seen.text, otherwise);
}

double sure_of(const LogSubject& subject, const Form& form) {
  constexpr double without_kernels = 0.78;
  const bool of_hipblaslt = form.id == std::string_view("hipblaslt-without-kernel");
  return of_hipblaslt && is_without_hipblaslt(subject) ? without_kernels : form.confidence;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  std::optional<Hypothesis> best = find_expandable(subject);
  if (auto stuck = find_stuck_in_mapping(subject)) {
    if (!best || stuck->confidence > best->confidence) best = std::move(stuck);
  }
  if (auto refused = find_overridden(subject)) best = std::move(refused);
  if (auto forced = find_switched_on(subject)) best = std::move(forced);
  auto aiter = find_aiter(subject);
  if (aiter && (!best || aiter->confidence > best->confidence)) best = std::move(aiter);
  for (const Form& form : forms) {
    const Observation* seen = nullptr;
    // A program that only mentions it works without it.
    for (const Observation* one : subject.log.of(form.id)) {
      if (seen == nullptr && !one->is_remark()) seen = one;
    }
    if (seen == nullptr || (best && best->confidence >= sure_of(subject, form))) continue;
    const std::string_view id = form.id;
    const bool may_go_on =
        id == "unsupported-on-rocm" || id == "type-unsupported" || id == "attention-forced";
    if (may_go_on && goes_on_otherwise(*seen)) continue;
    const bool is_off =
        form.id == std::string_view("hipblaslt-refused") && refused_when_off(subject) != nullptr;
    if (is_off) continue;
    Hypothesis option;
    option.confidence = sure_of(subject, form);
    option.title = form.title;
    option.reasons.emplace_back("The message names what is missing. Nothing is broken.");
    option.evidence.push_back(show(subject, *seen, logs::describe(*seen)));
    option.fix = {Step{form.kind, std::string(form.fix), {}}};
    option.alternatives = {{"gfx-target-missing", 0.1, "rocminfo | grep -m2 gfx"}};
    best = std::move(option);
  }
  return best;
}

}  // namespace

constinit const CauseRule unsupported_option_cause = {
    .id = "unsupported-option",
    .meaning = "An option, a number format or a back-end is forced that is not supported here.",
    .why = "Guides are written for other GPUs. The ROCm build may not have what they set.",
    .fix = "Leave the option out, or use what the build supports.",
    .explains = "app-bug framework-bug crash-loop gpu-hang",
    .find = find,
};

}  // namespace headroom::findings
