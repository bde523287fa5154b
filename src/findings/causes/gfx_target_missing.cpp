// SPDX-License-Identifier: Apache-2.0
// gfx-target-missing: the build that runs was never compiled for the GPU's target. Targets that an
// older release carried are left to gfx-target-dropped, and targets that only an override names to
// gfx-override-wrong.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "facts/kernel_text.h"
#include "findings/causes/causes.h"
#include "findings/causes/contradiction.h"
#include "findings/causes/crash_signs.h"
#include "findings/causes/gpu_code.h"
#include "findings/causes/older_release.h"
#include "findings/causes/told_story.h"
#include "findings/stack_advice.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using knowledge::Target;

// Suggests similar targets for which the library has code or, if it lists none, that are known to
// work.
void add_near_targets(const NoCode& code, const Target& target, Hypothesis& missing) {
  for (const auto& [value, judged] : target.overrides) {
    const auto named = knowledge::target_of_override(value);
    if (!named || judged.risk == knowledge::Risk::dangerous) continue;
    bool carried = code.built_for.empty();
    for (const std::string& gfx : code.built_for) carried = carried || gfx == *named;
    if (!carried) continue;
    missing.fix.push_back(
        sentence_with(fmt::format("Or run the code of {}, a closely related target (risk: {})",
                                  *named, to_string(judged.risk)),
                      "export HSA_OVERRIDE_GFX_VERSION=" + value));
  }
}

// Whether the program is PyTorch, as far as its paths and messages tell.
bool is_of_torch(const LogSubject& subject, const NoCode& code) {
  const std::string& line = code.seen->text;
  const facts::Text& framework = subject.scene.framework;
  const bool is_stated = framework && to_lower(*framework).find("torch") != std::string::npos;
  return is_stated || subject.scene.torch || subject.scene.torch_rocm ||
         subject.log.any_of({"traceback", "python-exception"}) ||
         line.find("packages/torch") != std::string::npos;
}

void advise_on_torch(const LogSubject& subject, const Target* target, Hypothesis& missing) {
  if (target != nullptr) missing.fix = wheels_for(subject.tables, *target);
  missing.fix.push_back(look("python3 -c \"import torch; print(torch.cuda.get_arch_list())\"",
                             "(the targets that this build includes)"));
}

void advise_on_program(const NoCode& code, const Target* target, Hypothesis& missing) {
  if (target != nullptr && target->rocm_first) {
    missing.fix.push_back(
        sentence(fmt::format("Use a newer ROCm. Its libraries include {} since {}{}.", target->gfx,
                             target->about_first ? "about " : "", *target->rocm_first)));
  }
  missing.fix.push_back(sentence(fmt::format(
      "If you built it from source, build it again with -DGPU_TARGETS={} -DAMDGPU_TARGETS={}",
      code.gfx.empty() ? "gfx…" : code.gfx, code.gfx.empty() ? "gfx…" : code.gfx)));
  missing.fix.push_back(sentence(
      "For llama.cpp, whisper.cpp and koboldcpp there are Vulkan builds, which do not need ROCm."));
}

// LLVM's own words for a GPU that it does not know: clang, hipcc, hiprtc and comgr say them.
bool is_compilers(const NoCode& code) {
  static const RE2 words(
      R"(target CPU|recognized processor|HIP target: gfx\w+ is unknown|invalid target ID)");
  return RE2::PartialMatch(code.seen->text, words);
}

void advise_on_compiler(const Target* target, Hypothesis& missing) {
  missing.fix = {
      target != nullptr && target->rocm_first
          ? sentence(fmt::format("Use a newer ROCm. Its compiler supports {} since {}{}.",
                                 target->gfx, target->about_first ? "about " : "",
                                 *target->rocm_first))
          : sentence("Use a newer ROCm, whose compiler supports the GPU."),
      look("hipconfig --full; which hipcc clang", "(which compiler runs, and from which ROCm)")};
}

void advise(const LogSubject& subject, const NoCode& code, Hypothesis& missing) {
  const Target* target = subject.tables.target(code.gfx);
  if (is_compilers(code)) {
    advise_on_compiler(target, missing);
    return;
  }
  if (code.add_on) {
    missing.fix = {
        sentence(
            "Leave this package out. PyTorch's own scaled_dot_product_attention works without it."),
        sentence(fmt::format("Or build it for the GPU: export PYTORCH_ROCM_ARCH={}",
                             code.gfx.empty() ? "gfx…" : code.gfx))};
    return;
  }
  if (code.seen->id().starts_with("ollama") ||
      subject.log.any_of({"ollama-settings", "ollama-cpu-only"})) {
    missing.fix = {
        sentence("Use a newer ollama, or run it with Vulkan: OLLAMA_VULKAN=1 ollama serve")};
  } else if (is_of_torch(subject, code)) {
    advise_on_torch(subject, target, missing);
  } else {
    advise_on_program(code, target, missing);
  }
  if (target != nullptr) {
    add_near_targets(code, *target, missing);
  } else {
    missing.fix.push_back(look("rocminfo | grep -m2 gfx", "(the GPU's own target)"));
  }
}

// Whether it is said to have been built for the target, and so is no wheel that leaves it out.
bool is_built_for(const LogSubject& subject, const std::string& gfx) {
  static const RE2 target(R"(\b(gfx[0-9a-f]{3,4})\b)");
  for (const char* id : {"compiled-for", "targets-set"}) {
    for (const logs::Observation* one : subject.log.of(id)) {
      re2::StringPiece rest(one->text);
      std::string named;
      while (RE2::FindAndConsume(&rest, target, &named)) {
        if (named == gfx) return true;
      }
    }
  }
  return false;
}

// PyTorch's wheels never had code for the card, or had none yet, nothing stands in for it, and the
// process dies of a wrong memory access at its first work: older runtimes end so where no code is
// found.
std::optional<Hypothesis> find_silent_end(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  const logs::Observation* died = log.first_of({"segfault", "aborted"});
  const Target* target = subject.tables.target(subject.scene.gfx());
  const bool of_torch = subject.scene.torch || subject.scene.torch_rocm ||
                        log.any_of({"device-in-use", "torch-device", "torch-sees-gpu"});
  const facts::Text& framework = subject.scene.framework;
  const bool of_tensorflow =
      framework && to_lower(*framework).find("tensorflow") != std::string::npos;
  if (died == nullptr || target == nullptr) return std::nullopt;
  if (!of_torch && !of_tensorflow) return std::nullopt;
  const bool worked = log.any_of({"training-step", "prompt-executed", "tensor-on-gpu"});
  const bool other_sign = find_crash_signs(log).of_gpu() != nullptr || log.seen("crash-frame");
  // A wheel that is older than the card has no code for it either.
  const bool is_dated = subject.scene.torch_rocm || (of_tensorflow && subject.scene.rocm);
  const bool too_old = is_dated && predates_target(subject.scene, target);
  if (worked || other_sign || (target->torch != knowledge::TorchWheels::none && !too_old)) {
    return std::nullopt;
  }
  if (subject.scene.setting("HSA_OVERRIDE_GFX_VERSION") != nullptr) return std::nullopt;
  if (dropped_target(subject, target->gfx) != nullptr) return std::nullopt;
  if (is_built_for(subject, target->gfx)) return std::nullopt;
  NoCode code;
  code.seen = died;
  code.gfx = target->gfx;
  Hypothesis missing;
  missing.confidence = too_old ? 0.65 : 0.5;
  const std::string_view whose = of_torch ? "PyTorch's" : "TensorFlow's";
  missing.title = too_old ? fmt::format("{} wheel for ROCm {} is older than {}", whose,
                                        *rocm_of(subject.scene), describe_gpu(subject, target->gfx))
                          : fmt::format("{} wheels have no code for {}", whose,
                                        describe_gpu(subject, target->gfx));
  missing.reasons = {
      "Without code for the GPU the first kernel cannot start. Some releases of the runtime then "
      "end the process without a message.",
      "No override is set that would let it run the code of a closely related target."};
  missing.evidence = {show(subject, *died, logs::describe(*died))};
  advise(subject, code, missing);
  missing.alternatives.push_back(
      {"framework-bug", 0.25, "AMD_LOG_LEVEL=3 CMD 2>&1 | grep -i 'code object'"});
  return missing;
}

// The targets that a build's files list, up to the next command; empty if there are not several.
std::vector<std::string> listed_targets(const logs::Observation& list) {
  static const RE2 target(R"((gfx[0-9a-f]{3,4})\b)");
  std::vector<std::string> found;
  const auto take = [&](const std::string& text) {
    re2::StringPiece rest(text);
    std::string gfx;
    while (RE2::FindAndConsume(&rest, target, &gfx)) found.push_back(gfx);
  };
  take(list.text);
  for (const std::string& line : list.output) {
    const std::string_view shown = trim(line);
    if (shown.empty() || shown.starts_with("$ ") || shown.starts_with("# ")) break;
    take(line);
  }
  constexpr std::size_t several = 3;
  return found.size() >= several ? found : std::vector<std::string>{};
}

// A build's own list of targets lacks the GPU's, and the program fails.
std::optional<Hypothesis> find_left_out(const LogSubject& subject) {
  const std::string gfx = subject.scene.gfx();
  const logs::Observation* failed = subject.log.first_with(knowledge::Role::failure);
  if (gfx.empty() || failed == nullptr) return std::nullopt;
  for (const logs::Observation* list : subject.log.of("targets-set")) {
    const auto targets = listed_targets(*list);
    if (targets.empty() || std::find(targets.begin(), targets.end(), gfx) != targets.end())
      continue;
    NoCode code;
    code.seen = list;
    code.gfx = gfx;
    code.built_for = targets;
    Hypothesis missing;
    missing.confidence = 0.6;
    missing.title = fmt::format("The build makes no code for {}", describe_gpu(subject, gfx));
    missing.reasons = {
        fmt::format("Its list of targets is {}; {} is not in it.", join(targets, ", "), gfx)};
    missing.evidence = {show(subject, *list, "the targets that it is built for"),
                        show(subject, *failed, logs::describe(*failed))};
    advise(subject, code, missing);
    return missing;
  }
  return std::nullopt;
}

// The line in which somebody tells that an older release than the one in use works on this card:
// then it is not code for the card that is missing.
const logs::Observation* told_to_work_with_older(const LogSubject& subject) {
  const facts::Text& used = rocm_of(subject.scene);
  const auto release = used ? facts::parse_kernel_version(*used) : std::nullopt;
  if (!release) return nullptr;
  for (const logs::Observation* said : subject.log.of("other-rocm-works")) {
    const std::string_view named =
        said->value("works").empty() ? said->value("back") : said->value("works");
    const auto works = facts::parse_kernel_version(named);
    if (works && *works < *release) return said;
  }
  const Story story = story_of(subject, "rocm-regression");
  for (const std::string& one : story.told.works) {
    const auto works = facts::parse_kernel_version(one);
    if (works && *works < *release) return story.told.told;
  }
  return nullptr;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const auto code = find_no_code(subject);
  if (!code) {
    auto left_out = find_left_out(subject);
    return left_out ? left_out : find_silent_end(subject);
  }
  if (!code->add_on && dropped_target(subject, code->gfx) != nullptr) return std::nullopt;
  Hypothesis missing;
  missing.confidence = code->confidence;
  constexpr double if_hidden = 0.4;
  if (hidden_by_path(subject) != nullptr) missing.confidence *= if_hidden;
  const auto forced = find_override(subject);
  // Then the line is about the target that the override names.
  const bool is_dangerous = forced && forced->judged.risk == knowledge::Risk::dangerous;
  if (is_dangerous && !forced->fails_without) missing.confidence *= 0.5;
  // Nor can code be missing from wheels that have it for the target the override names.
  const bool is_disguised = forced && !is_dangerous && !forced->fails_without &&
                            is_of_torch(subject, *code) && names_wheels_target(subject, *forced);
  if (is_disguised) missing.confidence *= 0.5;
  if (const logs::Observation* told = told_to_work_with_older(subject)) {
    speak_against(missing, 0.5, show(subject, *told, "an older release is said to work"));
  }
  if (const logs::Observation* had = older_release_had(subject, code->gfx)) {
    speak_against(missing, 0.5, show(subject, *had, "an older release has the code"));
  }
  missing.title =
      fmt::format("The program contains no code for {}", describe_gpu(subject, code->gfx));
  missing.reasons.emplace_back(
      "GPU code is compiled in advance for a list of targets. On any other target the first kernel "
      "fails.");
  if (!code->built_for.empty() && !code->gfx.empty()) {
    missing.reasons.push_back(
        fmt::format("The list is {}; {} is not in it.", join(code->built_for, ", "), code->gfx));
  }
  missing.evidence.push_back(show(subject, *code->seen, logs::describe(*code->seen)));
  for (const SceneGpu& gpu : subject.scene.gpus) {
    if (gpu.gfx == code->gfx && !gpu.source.path.empty()) {
      missing.evidence.push_back(
          {gpu.source.path, gpu.source.line, gpu.source.text, "the GPU's target is " + gpu.gfx});
    }
  }
  advise(subject, *code, missing);
  missing.alternatives = {
      {"gpu-unsupported", 0.15, "headroom check   (the support level of this GPU)"},
      {"gfx-override-wrong", 0.1, "env | grep HSA_OVERRIDE_GFX_VERSION"}};
  if (subject.scene.integrated_gpu() != nullptr && subject.scene.discrete_gpu() != nullptr) {
    missing.alternatives.push_back({"igpu-selected", 0.4,
                                    "HIP_VISIBLE_DEVICES=0 python3 -c \"import torch; print("
                                    "torch.cuda.get_device_name(0))\""});
  }
  return missing;
}

}  // namespace

constinit const CauseRule gfx_target_missing_cause = {
    .id = "gfx-target-missing",
    .meaning = "The program, or one of its libraries, was not compiled for this GPU's target.",
    .why =
        "Listing the GPU works, but the first kernel fails. Another build, or the code of a "
        "closely related target, may work.",
    .fix =
        "Install a build that includes the target. If there is none, a closely related target can "
        "be set with "
        "HSA_OVERRIDE_GFX_VERSION.",
    .explains = "app-bug crash-loop framework-bug gpu-hang gpu-not-used",
    .next = &NextCommand::stack,
    .find = find,
};

}  // namespace headroom::findings
