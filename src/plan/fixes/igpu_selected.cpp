// SPDX-License-Identifier: Apache-2.0
// igpu-selected: hides the integrated GPU from ROCm where check found it beside a discrete card.
// ROCR_VISIBLE_DEVICES and not HIP_VISIBLE_DEVICES: it acts below HIP, so that libraries that look
// at every GPU do not trip over the integrated one. In /etc/environment, because logins by ssh, on
// the console and on the desktop all read it; environment.d reaches the desktop's services alone.
#include <fmt/format.h>

#include "base/text.h"
#include "findings/memory_use.h"
#include "plan/diagnosed.h"
#include "plan/fixes/every_fix.h"
#include "plan/fixes/places.h"

namespace headroom::plan {
namespace {

constexpr std::string_view id = "igpu-selected";  // The cause of a log.
constexpr std::string_view finding = "igpu-beside-discrete";
constexpr const char* path = "/etc/environment";

// A mask that somebody has set already, wherever: "ROCR_VISIBLE_DEVICES in /etc/environment".
std::optional<std::string> mask_in_force(const FixSubject& subject) {
  for (const facts::Setting& setting : subject.facts.environment.settings) {
    const auto* knob = subject.tables.knobs.find(setting.name);
    const bool mask = knob != nullptr && knob->value == knowledge::KnobValue::mask;
    if (mask && setting.scope != facts::Scope::process) {
      return fmt::format("{}={} ({})", setting.name, setting.value, setting.source.path);
    }
  }
  return std::nullopt;
}

// The discrete GPUs by name where they have one, which stays when cards move, else by their place
// in ROCr's order; fails where that is not known either.
Result<std::string> devices_to_keep(const facts::Facts& facts) {
  std::vector<std::string> words;
  for (const facts::Gpu& gpu : facts.gpus) {
    if (!gpu.integrated || *gpu.integrated || !gpu.kfd_id) continue;
    if (gpu.unique_id && *gpu.unique_id != 0 && !gpu.partition) {
      words.push_back(fmt::format("GPU-{:016x}", *gpu.unique_id));
      continue;
    }
    const auto& index = gpu.connection.rocr_index;
    if (!index) {
      return Error{
          Errc::unsupported,
          fmt::format("igpu-selected: headroom does not know the position of {} in ROCm's list",
                      findings::title_of(gpu)),
          "rocminfo   (GPUs are numbered from 0 in its order), then set ROCR_VISIBLE_DEVICES=N"};
    }
    words.push_back(fmt::format("{}", *index));
  }
  if (words.empty()) return not_needed(id, "ROCm lists no discrete GPU here");
  return join(words, ",");
}

Step make_step(const FixSubject& subject, const std::string& line) {
  const facts::ConfigFile* there = setting_file(subject, path);
  FileEdit edit;
  edit.path = path;
  std::string after;
  if (there != nullptr) edit.before = after = there->text;
  if (!after.empty() && after.back() != '\n') after += '\n';
  edit.after = after + line + "\n";
  Step step;
  step.kind = StepKind::environment;
  step.what = fmt::format("Put {} into {}", line, path);
  step.why = "ROCm then lists only the discrete card, for every login.";
  step.action = std::move(edit);
  step.expects = {{Expectation::Kind::file_contains, path, line}};
  return step;
}

Result<Change> make(const FixSubject& subject, std::string_view name) {
  if (!is_diagnosed(subject.diagnosis, finding)) {
    return not_needed(id, "ROCm does not list an integrated GPU beside a discrete one");
  }
  if (const auto mask = mask_in_force(subject)) {
    return not_needed(id, "a mask is already set: " + *mask);
  }
  HEADROOM_TRY(const std::string devices, devices_to_keep(subject.facts));
  const std::string line = "ROCR_VISIBLE_DEVICES=" + devices;
  Change change;
  change.fix = name;
  change.title = "Hide the integrated GPU from ROCm";
  change.words = subject.options.words;
  change.notes.emplace_back(
      "Vulkan, OpenGL, video and the desktop are not affected. Only ROCm reads it.");
  if (subject.facts.machine.in_container()) {
    change.steps.push_back(
        by_hand(fmt::format("On the host, start the container with --env {}, or with only the "
                            "render node of the discrete card.",
                            line)));
    return change;
  }
  if (is_editable(path)) change.steps.push_back(make_step(subject, line));
  change.notes.emplace_back(
      "System services do not read it. For a service: systemctl edit UNIT, and there [Service] "
      "Environment=" +
      line);
  change.notes.emplace_back("Containers do not read it. Start them with --env " + line);
  if (devices.find("GPU-") == std::string::npos) {
    change.notes.emplace_back(
        "The number is the GPU's position in rocminfo. Check it again after you add or move "
        "cards.");
  }
  change.notes.emplace_back("Log in again.");
  return change;
}

template <const Fix& fix>
Result<Change> plan(const FixSubject& subject) {
  return make(subject, fix.id);
}

template <const Fix& fix>
bool applies(const FixSubject& subject) {
  return acts(make(subject, fix.id));
}

constexpr std::string_view what_it_does =
    "Hides the integrated GPU from ROCm, so that jobs use the discrete card.";

}  // namespace

constinit const Fix igpu_selected_fix = {
    .id = id,
    .meaning = what_it_does,
    .takes = "",
    .applies = [](const FixSubject&) { return false; },  // Listed by the finding's name.
    .plan = plan<igpu_selected_fix>,
};

constinit const Fix igpu_beside_discrete_fix = {
    .id = finding,
    .meaning = what_it_does,
    .takes = "",
    .applies = applies<igpu_beside_discrete_fix>,
    .plan = plan<igpu_beside_discrete_fix>,
};

}  // namespace headroom::plan
