// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/crash_signs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace headroom::findings {

using logs::Observation;

namespace {

bool earlier(const Observation* one, const Observation* other) {
  if (other == nullptr) return one != nullptr;
  if (one == nullptr) return false;
  return std::pair(one->log, one->line) < std::pair(other->log, other->line);
}

bool is_ecc(const Observation& exception) {
  return exception.value("reason").find("ECC") != std::string_view::npos;
}

// Whether the scene's kernel is the one that the machine runs now.
bool kernel_is_measured(const Scene& scene) {
  return scene.measured != nullptr && scene.measured->machine.kernel && !scene.kernel_now;
}

// Whether the log shows a firmware that the machine, as far as it was measured, does not run: then
// the kernel, which comes with updates as the firmware does, may have been another one too.
bool firmware_was_another(const LogSubject& subject, const SceneGpu& seen) {
  const Observation* line = subject.log.first("mes-firmware");
  const auto told = line != nullptr ? parse_hex(line->value("mes")) : std::nullopt;
  if (!told || subject.scene.measured == nullptr) return false;
  for (const facts::Gpu& measured : subject.scene.measured->gpus) {
    const auto mes = measured.firmware.versions.find("mes");
    const bool same =
        mes != measured.firmware.versions.end() && mes->second.known() && *mes->second == *told;
    if (same && measured.gfx && *measured.gfx == seen.gfx) return false;
  }
  return true;
}

// Puts what the log tells about the firmware and the GPU in the form of a measured GPU.
facts::Gpu gpu_for_matching(const LogSubject& subject, const SceneGpu& seen) {
  facts::Gpu gpu;
  if (subject.scene.measured != nullptr) {
    for (const facts::Gpu& measured : subject.scene.measured->gpus) {
      if (measured.gfx && *measured.gfx == seen.gfx) gpu = measured;
    }
  }
  gpu.gfx = facts::Text(seen.gfx, seen.source);
  if (seen.integrated) gpu.integrated = facts::Fact<bool>(*seen.integrated, seen.source);
  if (const Observation* line = subject.log.first("mes-firmware")) {
    if (const auto version = parse_hex(line->value("mes"))) {
      gpu.firmware.versions["mes"] = facts::Fact<std::uint64_t>(
          *version, {line->log_name, static_cast<int>(line->line), line->text});
    }
  }
  return gpu;
}

}  // namespace

const Observation* CrashSigns::of_gpu() const {
  const Observation* first = nullptr;
  for (const Observation* one : {stopped, scheduler, fault}) {
    if (earlier(one, first)) first = one;
  }
  return first;
}

CrashSigns find_crash_signs(const logs::Observations& log) {
  CrashSigns signs;
  signs.stopped = log.first_of({"ring-timeout", "gpu-reset", "gpu-reset-failed", "device-lost"});
  for (const Observation* one : log.of("hw-exception")) {
    if (!is_ecc(*one) && earlier(one, signs.stopped)) signs.stopped = one;
  }
  signs.scheduler = log.first_of({"mes-timeout", "hws-hang", "queue-not-removed"});
  signs.fault = log.first_of(
      {"memory-access-fault", "gpu-page-fault", "hsa-exception", "hip-illegal-access"});
  signs.died = log.first_of({"aborted", "segfault", "signal-exit", "worker-killed"});
  return signs;
}

std::string gpu_of(const Scene& scene) {
  const std::string gfx = scene.gfx();
  const SceneGpu* known = scene.gpu(gfx);
  if (gfx.empty() || known == nullptr) {
    return scene.gpus.size() == 1 && !scene.gpus.front().name.empty() ? scene.gpus.front().name
                                                                      : "the GPU";
  }
  return known->name.empty() ? gfx : fmt::format("{} ({})", gfx, known->name);
}

std::string gpu_at_start(const Scene& scene) {
  const std::string name = gpu_of(scene);
  return name.starts_with("the ") ? "The " + name.substr(4) : name;
}

const facts::Text& rocm_of(const Scene& scene) {
  return scene.torch_rocm ? scene.torch_rocm : scene.rocm;
}

std::vector<AdvisoryMatch> match_advisories(const LogSubject& subject, std::string_view about,
                                            const knowledge::FirmwareCondition* assumed) {
  facts::Facts facts;
  facts.machine = subject.scene.machine;
  facts.machine.rocm = rocm_of(subject.scene);
  std::vector<AdvisoryMatch> matches;
  for (const SceneGpu& seen : subject.scene.gpus) {
    if (seen.gfx.empty()) continue;
    facts::Gpu gpu = gpu_for_matching(subject, seen);
    const bool another_then =
        kernel_is_measured(subject.scene) && firmware_was_another(subject, seen);
    facts.machine.kernel = another_then ? facts::Text() : subject.scene.machine.kernel;
    if (assumed != nullptr) {
      gpu.firmware.versions[assumed->name] = facts::Fact<std::uint64_t>(assumed->is, {});
    }
    for (AdvisoryMatch& one :
         match_advisories(Subject{facts, subject.tables}, gpu, UnknownKernel::open)) {
      const bool of_kind = one.advisory->about == about;
      if (of_kind && one.advisory->effect != knowledge::Effect::note) {
        matches.push_back(std::move(one));
      }
    }
  }
  std::stable_sort(matches.begin(), matches.end(), [](const auto& a, const auto& b) {
    return a.advisory->effect > b.advisory->effect;
  });
  return matches;
}

bool has_advisories(const LogSubject& subject, std::string_view about) {
  for (const knowledge::Advisory& row : subject.tables.advisories.rows) {
    if (row.about != about || row.effect == knowledge::Effect::note) continue;
    for (const std::string& gfx : row.gfx) {
      if (subject.scene.mentions_gfx(gfx)) return true;
    }
  }
  return false;
}

void show_some(const LogSubject& subject, std::initializer_list<std::string_view> ids,
               std::size_t most, Hypothesis& hypothesis) {
  std::size_t left = most;
  for (const Observation& one : subject.log.all()) {
    if (left == 0) return;
    if (std::find(ids.begin(), ids.end(), one.id()) == ids.end()) continue;
    const bool known = std::any_of(
        hypothesis.evidence.begin(), hypothesis.evidence.end(), [&](const Evidence& shown) {
          return shown.line == static_cast<int>(one.line) && shown.text == one.text;
        });
    if (known) continue;
    hypothesis.evidence.push_back(show(subject, one));
    --left;
  }
}

}  // namespace headroom::findings
