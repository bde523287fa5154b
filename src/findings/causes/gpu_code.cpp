// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/gpu_code.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "facts/kernel_text.h"
#include "findings/causes/code_refusal.h"
#include "findings/causes/control_run.h"
#include "findings/causes/libraries.h"
#include "findings/scene_text.h"

namespace headroom::findings {
namespace {

using knowledge::Target;
using logs::Observation;

bool contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// "6.4.0" of "/opt/rocm-6.4.0/lib"; empty if the path names no release.
std::string release_of_path(const std::string& text) {
  static const RE2 folder(R"(/rocm-(\d+\.\d+(?:\.\d+)?)/)");
  std::string release;
  RE2::PartialMatch(text, folder, &release);
  return release;
}

std::vector<std::string> listed_targets(const Observation& seen) {
  if (!seen.value("built_for").empty()) return targets_in(seen.value("built_for"));
  if (!seen.value("types").empty()) return targets_in(seen.value("types"));
  const std::string tree = release_of_path(seen.text);
  std::string files;
  for (const std::string& line : seen.output) {
    // What comes behind the list may be another release's folder, which works.
    const std::string other = release_of_path(line);
    const bool is_elsewhere = !tree.empty() && !other.empty() && other != tree;
    if (!is_elsewhere && line.find("TensileLibrary") != std::string::npos) files += line + ' ';
  }
  // "_gfx1030.dat" has no word boundary before the target.
  std::replace(files.begin(), files.end(), '_', ' ');
  return targets_in(files);
}

// The release that brings the libraries: the wheel's own, else the system's.
const facts::Text& release_in_use(const Scene& scene) {
  return scene.torch_rocm ? scene.torch_rocm : scene.rocm;
}

// Whether the release in use is older than the first one with code for the target.
bool is_before_first(const Scene& scene, const Target* target) {
  const facts::Text& used = release_in_use(scene);
  if (target == nullptr || !target->rocm_first || !used) return false;
  const auto release = facts::parse_kernel_version(*used);
  const auto began = facts::parse_kernel_version(*target->rocm_first);
  if (!release || !began) return false;
  return std::pair((*release)[0], (*release)[1]) < std::pair((*began)[0], (*began)[1]);
}

// Whether today's wheels and releases carry the target, so that its absence would be unusual.
bool is_carried_today(const Target* target) {
  return target != nullptr && target->torch == knowledge::TorchWheels::current;
}

// Whether kernels come in packages of their own, one for each target, as in AMD's wheels since ROCm
// 7.9.
bool kernels_come_apart(const Scene& scene) {
  const auto release =
      scene.torch_rocm ? facts::parse_kernel_version(*scene.torch_rocm) : std::nullopt;
  return release && std::pair((*release)[0], (*release)[1]) >= std::pair(7U, 9U);
}

}  // namespace

bool looks_in_wrong_folder(const LogSubject& subject, const Observation& seen) {
  static const RE2 whole_library(R"(TensileLibrary\.(?:dat|yaml)\W{0,3}\s*No such file)");
  const Target* target = subject.tables.target(subject.scene.gfx());
  const bool is_brought = target != nullptr &&
                          support_of(*target) == knowledge::Support::official &&
                          !is_before_first(subject.scene, target);
  // A bundle may have left the target out; a list of what there is would show it.
  const bool is_bundle = seen.text.find("-packages") != std::string::npos ||
                         seen.text.find('\\') != std::string::npos ||
                         seen.text.find("_MEI") != std::string::npos;
  return is_brought && !is_bundle && seen.value("gfx").empty() &&
         RE2::PartialMatch(seen.text, whole_library) && listed_targets(seen).empty();
}

namespace {

// How much a line tells by itself; it tells more if its target is one that nobody builds for.
double weigh(const LogSubject& subject, const NoCode& found) {
  const std::string& id = found.seen->id();
  const Target* target = subject.tables.target(found.gfx);
  if (!found.built_for.empty() && !found.gfx.empty()) return 0.93;
  if (id == "tensile-missing") {
    if (has_no_kernels_at_all(*found.seen)) return 0.3;
    if (looks_in_wrong_folder(subject, *found.seen)) return 0.3;
    // A file that every build has and that still cannot be loaded is one of another release.
    const bool unread = found.seen->value("error").empty();
    // Windows's HIP SDK carries fewer targets than Linux's packages.
    const bool of_hip_sdk = found.seen->text.find("\\ROCm\\") != std::string::npos;
    if (unread && of_hip_sdk) return 0.75;
    if (unread && is_carried_today(target)) return confidence::conceivable;
    return found.gfx.empty() ? 0.75 : 0.88;
  }
  // A file of kernels that cannot be read need not be absent: ROCm brings those of its own targets.
  if (!found.seen->value("asked5").empty()) {
    const bool brought = target != nullptr && support_of(*target) == knowledge::Support::official;
    return !brought ? 0.7 : release_in_use(subject.scene) ? 0.3 : 0.5;
  }
  const bool may_be_another_reason = id == "device-dropped-for-target";
  if (found.names_target && may_be_another_reason) return 0.6;
  if (found.names_target) return id == "target-refused" ? 0.82 : 0.9;
  if (id == "attention-supports-only") return 0.75;
  if (id == "source-lacks-target") return 0.7;
  if (is_before_first(subject.scene, target) && id != "ollama-device-left-out") return 0.88;
  const bool rare = target != nullptr && !is_carried_today(target);
  if (id == "ollama-device-left-out") return rare ? 0.5 : 0.3;
  if (kernels_come_apart(subject.scene) && id.starts_with("invalid")) return 0.7;
  if (id == "no-binary-for-gpu") return rare ? 0.88 : target == nullptr ? 0.7 : 0.6;
  if (id == "invalid-device-function") return rare ? 0.82 : target == nullptr ? 0.6 : 0.5;
  return rare ? 0.75 : 0.45;
}

// Whether it is an integrated GPU that is skipped while the discrete one works, which is no
// failure.
bool is_bystander(const LogSubject& subject, const std::string& gfx) {
  const SceneGpu* gpu = subject.scene.gpu(gfx);
  const SceneGpu* discrete = subject.scene.discrete_gpu();
  return gpu != nullptr && gpu->integrated.value_or(false) && discrete != nullptr &&
         discrete->gfx != gfx;
}

std::optional<NoCode> read(const LogSubject& subject, const Observation& seen) {
  if (is_denied(seen)) return std::nullopt;
  NoCode found;
  found.seen = &seen;
  // The compiler, PyTorch itself and rocBLAS are no add-ons.
  const bool of_base = !seen.value("asked2").empty() || !seen.value("asked4").empty() ||
                       !seen.value("asked5").empty();
  found.add_on = (seen.id() == "target-refused" && !of_base) ||
                 seen.id() == "attention-supports-only" || seen.id() == "source-lacks-target";
  if (seen.id() == "source-lacks-target") found.gfx = compiled_target(subject, seen);
  for (const char* name : {"gfx", "asked", "asked2", "asked3", "asked4", "asked5"}) {
    const auto named = targets_in(seen.value(name));
    if (!named.empty() && found.gfx.empty()) found.gfx = named.front();
  }
  found.names_target = !found.gfx.empty();
  if (found.gfx == "gfx000") return std::nullopt;  // KFD's name for a processor.
  if (found.gfx.empty()) found.gfx = subject.scene.gfx();
  if (found.names_target && is_bystander(subject, found.gfx)) return std::nullopt;
  found.built_for = listed_targets(seen);
  // A person may ask an add-on to be built for the GPU, which the add-on then refuses.
  if (found.built_for.empty() && !(found.add_on && found.names_target)) {
    if (const auto* list = subject.log.first_of({"arch-list", "compiled-for"})) {
      found.built_for = listed_targets(*list);
    }
  }
  if (!found.gfx.empty() && contains(found.built_for, found.gfx)) return std::nullopt;
  // A list such as "gfx1030gfx1100" has a mistake in it; the target is not missing.
  if (found.names_target && seen.value("built_for").find(found.gfx) != std::string_view::npos) {
    return std::nullopt;
  }
  found.confidence = weigh(subject, found);
  const bool several =
      subject.scene.integrated_gpu() != nullptr && subject.scene.discrete_gpu() != nullptr;
  if (several && !found.names_target) found.confidence *= 0.6;
  return found;
}

// Returns the GPU's own targets as far as they are known, not the target that the override
// pretends.
std::vector<const Target*> own_targets(const LogSubject& subject, const std::string& pretended) {
  std::vector<const Target*> own;
  std::vector<const Target*> integrated;
  for (const SceneGpu& gpu : subject.scene.gpus) {
    if (gpu.gfx.empty() || gpu.gfx == pretended) continue;
    if (const Target* target = subject.tables.target(gpu.gfx)) {
      (gpu.integrated.value_or(false) ? integrated : own).push_back(target);
    }
  }
  if (own.empty()) own = integrated;
  if (!own.empty()) return own;
  // A name such as "gfx103x" is a family.
  for (const SceneGpu& gpu : subject.scene.gpus) {
    if (!gpu.gfx.ends_with('x')) continue;
    const std::string family = gpu.gfx.substr(0, gpu.gfx.size() - 1);
    for (const auto& [gfx, target] : subject.tables.targets) {
      const bool member = gfx.starts_with(family) && gfx.size() == gpu.gfx.size();
      if (member) own.push_back(&target);
    }
  }
  return own;
}

const facts::Setting* override_setting(const Scene& scene) {
  const facts::Setting* found = nullptr;
  for (const facts::Setting& setting : scene.settings) {
    const bool named = setting.name == "HSA_OVERRIDE_GFX_VERSION" ||
                       setting.name.starts_with("HSA_OVERRIDE_GFX_VERSION_");
    if (named && !setting.value.empty()) found = &setting;
  }
  return found;
}

// Returns "10.3.0" for gfx1030.
std::string value_of_override(const std::string& gfx) {
  const auto step = parse_hex(gfx.substr(gfx.size() - 1));
  if (gfx.size() < 6 || !step) return "";
  return fmt::format("{}.{}.{}", gfx.substr(3, gfx.size() - 5), gfx[gfx.size() - 2], *step);
}

struct Pretended {
  std::string value;  // The value as it would be set.
  std::string gfx;
  Evidence evidence;
};

// Returns the only target that the GPU's names belong to.
const Target* target_by_name(const LogSubject& subject) {
  const Target* named = nullptr;
  for (const SceneGpu& gpu : subject.scene.gpus) {
    // A chip's name may come only from the tables, by the target.
    const Target* target = subject.tables.target(gpu.gfx);
    if (target != nullptr && target->chip == gpu.name) continue;
    for (const SceneGpu& one : gpus_of_text(gpu.name, subject.tables)) {
      if (named != nullptr && named->gfx != one.gfx) return nullptr;
      named = subject.tables.target(one.gfx);
    }
  }
  return named;
}

// Finds a runtime that reports another target than the GPU's name belongs to.
std::optional<Pretended> find_implied(const LogSubject& subject) {
  std::vector<const Observation*> printed = subject.log.of("agent-name");
  for (const Observation* one : subject.log.of("target-printed")) printed.push_back(one);
  const Target* named = printed.empty() ? nullptr : target_by_name(subject);
  if (named == nullptr || named->kind == knowledge::Kind::both) return std::nullopt;
  const Observation* other = nullptr;
  for (const Observation* one : printed) {
    if (one->value("gfx") == named->gfx) return std::nullopt;
    const Target* target = subject.tables.target(one->value("gfx"));
    if (target != nullptr && target->kind == named->kind) other = one;
  }
  if (other == nullptr) return std::nullopt;
  const std::string gfx(other->value("gfx"));
  return Pretended{
      value_of_override(gfx), gfx,
      show(subject, *other,
           "the runtime says " + gfx + ", but the GPU's name belongs to " + named->gfx)};
}

std::optional<Pretended> find_pretended(const LogSubject& subject) {
  const facts::Setting* setting = override_setting(subject.scene);
  if (setting == nullptr) return find_implied(subject);
  const facts::Source& source = setting->source;
  return Pretended{setting->value,
                   knowledge::target_of_override(setting->value).value_or(""),
                   {source.path, source.line, source.text, "the override in force"}};
}

// Whether somebody tells that the job works with the override, on the line that names it or on one
// of the next.
bool is_said_to_help(const logs::Observations& log) {
  static const RE2 helps(
      R"((?i)HSA_OVERRIDE_GFX_VERSION.{0,100}\b(?:works?|worked|helps|helped|fixe[sd]|solve[sd]|load and run|runs? fine)\b)");
  static const RE2 denied(
      R"((?i)(?:n['’]t|\bnot|\bnever|\bno longer|\bstopped) (?:\w+ )?(?:work|help|fix|solv|run|load)|\bused to work|\bwrong\b)");
  for (const Observation* one : log.of("override-spoken-of")) {
    if (RE2::PartialMatch(one->text, denied)) continue;
    if (RE2::PartialMatch(one->text, helps)) return true;
    constexpr std::uint64_t near = 2;
    for (const Observation* told : log.of("outcome-told")) {
      const bool follows = told->log == one->log && told->line > one->line;
      if (follows && told->line - one->line <= near) return true;
    }
  }
  return false;
}

// Whether a program refused the GPU by its own target before the override was set.
bool refused_before(const logs::Observations& log, const facts::Setting& setting) {
  for (const char* id :
       {"device-dropped-for-target", "ollama-target-refused", "ollama-target-listed",
        "ollama-gpu-unsupported", "tensorflow-target-ignored", "shown:gpu-unsupported"}) {
    const Observation* refused = log.first(id);
    if (refused == nullptr || refused->log_name != setting.source.path) continue;
    if (static_cast<int>(refused->line) < setting.source.line) return true;
  }
  return false;
}

bool fails_without_override(const LogSubject& subject) {
  if (is_said_to_help(subject.log)) return true;
  static constexpr std::string_view name = "HSA_OVERRIDE_GFX_VERSION";
  const facts::Setting* setting = override_setting(subject.scene);
  if (setting != nullptr && says_tried(setting->source.text)) return true;
  if (setting != nullptr && refused_before(subject.log, *setting)) return true;
  if (subject.log.seen("setting-tried")) return true;
  const auto runs = find_control_runs(subject.log);
  return std::any_of(runs.begin(), runs.end(),
                     [](const ControlRun& run) { return run.same_failure && run.setting == name; });
}

}  // namespace

bool predates_target(const Scene& scene, const Target* target) {
  return is_before_first(scene, target);
}

std::optional<NoCode> find_no_code(const LogSubject& subject) {
  std::optional<NoCode> best;
  for (const char* id :
       {"tensile-missing", "device-dropped-for-target", "ollama-target-listed",
        "ollama-target-refused", "ollama-target-removed", "tensorflow-target-ignored",
        "no-binary-for-gpu", "invalid-device-function", "invalid-kernel-image", "target-refused",
        "attention-supports-only", "source-lacks-target", "ollama-device-left-out"}) {
    for (const Observation* seen : subject.log.of(id)) {
      const auto found = read(subject, *seen);
      if (found && (!best || found->confidence > best->confidence)) best = found;
    }
  }
  return best;
}

bool names_wheels_target(const LogSubject& subject, const OverrideInForce& forced) {
  const auto named = knowledge::target_of_override(forced.value);
  const knowledge::Target* target = named ? subject.tables.target(*named) : nullptr;
  return target != nullptr && target->torch == knowledge::TorchWheels::current;
}

std::optional<OverrideInForce> find_override(const LogSubject& subject) {
  const auto pretended = find_pretended(subject);
  if (!pretended) return std::nullopt;
  std::optional<OverrideInForce> mildest;
  for (const Target* target : own_targets(subject, pretended->gfx)) {
    const auto judged = knowledge::judge_override(*target, pretended->value);
    if (!judged) return std::nullopt;
    if (!mildest || judged->risk < mildest->judged.risk) {
      mildest = OverrideInForce{pretended->value, target->gfx, *judged, pretended->evidence};
    }
  }
  if (mildest) {
    const Target* own = subject.tables.target(mildest->own);
    mildest->fails_without = fails_without_override(subject) || is_before_first(subject.scene, own);
  }
  return mildest;
}

const Target* dropped_target(const LogSubject& subject, const std::string& gfx) {
  const Target* target = subject.tables.target(gfx);
  if (target == nullptr || knowledge::support_of(*target) != knowledge::Support::dropped) {
    return nullptr;
  }
  const Scene& scene = subject.scene;
  const facts::Text& used = scene.torch_rocm ? scene.torch_rocm : scene.rocm;
  const auto release = used ? facts::parse_kernel_version(*used) : std::nullopt;
  const auto last = facts::parse_kernel_version(*target->rocm_last);
  if (!release || !last) return target;
  const bool carried = std::pair((*release)[0], (*release)[1]) <= std::pair((*last)[0], (*last)[1]);
  return carried ? nullptr : target;
}

std::string describe_gpu(const LogSubject& subject, const std::string& gfx) {
  if (gfx.empty()) return "this GPU";
  const SceneGpu* gpu = subject.scene.gpu(gfx);
  if (gpu != nullptr && !gpu->name.empty()) return fmt::format("{} ({})", gfx, gpu->name);
  return gfx;
}

const Observation* hidden_by_path(const LogSubject& subject) {
  const Observation* spaced = subject.log.first("spaced-path");
  if (spaced == nullptr || !subject.log.any_of({"no-binary-for-gpu", "invalid-device-function",
                                                "kernel-image-refused"})) {
    return nullptr;
  }
  // The target that the job runs as has to be one that builds carry.
  const facts::Setting* setting = override_setting(subject.scene);
  const auto pretended =
      setting != nullptr ? knowledge::target_of_override(setting->value) : std::nullopt;
  const std::string gfx = pretended.value_or(subject.scene.gfx());
  return is_carried_today(subject.tables.target(gfx)) ? spaced : nullptr;
}

}  // namespace headroom::findings
