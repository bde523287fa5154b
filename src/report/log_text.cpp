// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/cause_text.h"
#include "report/log_report.h"

namespace headroom::report {
namespace {

using findings::Event;
using findings::LogDiagnosis;
using findings::Scene;

std::string place_of(const findings::Evidence& evidence) {
  return evidence.line > 0 ? fmt::format("{}:{}", evidence.source, evidence.line) : evidence.source;
}

// Of what was brought about, what matters: which, and where it shows.
std::string consequences_text(const LogDiagnosis& diagnosis, const Style& style) {
  if (diagnosis.consequences.empty()) return "";
  std::string text = "\n" + style.bold("Consequences") + "\n";
  for (const findings::Consequence& one : diagnosis.consequences) {
    const std::string place =
        one.evidence.empty() ? "" : " (" + place_of(one.evidence.front()) + ")";
    text += fold(printable(one.title) + place, "  " + one.id + ": ", style.width);
  }
  return text;
}

std::string tensor_text(const LogDiagnosis& diagnosis, const Style& style) {
  if (!diagnosis.failed_tensor) return "";
  const findings::FailedTensor& failed = *diagnosis.failed_tensor;
  std::string text = "\n" + style.bold("What the " + printable(failed.size) + " are") + "\n";
  for (const estimate::TensorMatch& one : failed.matches) {
    text += fold(fmt::format("{}: {} ({})", printable(one.tensor), one.formula, one.dtype), "  ",
                 style.width);
    for (const std::string& assumed : one.assumes) {
      text += style.dim(fold(printable(assumed), "      ", style.width));
    }
  }
  for (const std::string& remedy : failed.matches.front().removed_by) {
    text += fold(printable(remedy), "  -> ", style.width);
  }
  return text;
}

// What grows although it is no reason of the cause.
std::string growth_text(const LogDiagnosis& diagnosis, const Style& style) {
  if (!diagnosis.growth || !diagnosis.growth->is_growing()) return "";
  const findings::MemoryGrowth& growth = *diagnosis.growth;
  const auto& reasons = diagnosis.cause.reasons;
  if (std::find(reasons.begin(), reasons.end(), describe(growth)) != reasons.end()) return "";
  const std::string place = fmt::format(" ({} to line {}; {} figures)", place_of(growth.first_line),
                                        growth.last_line.line, growth.count);
  return "\n" + style.bold("Memory that grows") + "\n" +
         fold(printable(describe(growth)) + place, "  ", style.width);
}

std::string timeline_text(const LogDiagnosis& diagnosis, const LogExtent& extent,
                          const Style& style) {
  const bool one_log = extent.names.size() == 1;
  // One event is the evidence already.
  if (diagnosis.timeline.size() < 2) return "";
  std::vector<std::vector<std::string>> rows;
  for (const Event& event : diagnosis.timeline) {
    std::string what = shorten(printable(event.what), 70);
    if (event.times > 1) {
      what += fmt::format("  ({} times{})", event.times,
                          event.last_time.empty() ? "" : ", last " + printable(event.last_time));
    }
    rows.push_back({printable(event.time), printable(event.origin), what,
                    one_log ? fmt::format("line {}", event.line)
                            : fmt::format("{}:{}", event.log, event.line)});
  }
  std::string text = "\n" + style.bold("What happened") + "\n";
  for (const TableLine& line :
       table(rows, {Align::left, Align::left, Align::left, Align::left}, 2, style.width)) {
    text += line.text + "\n";
  }
  return text;
}

std::string harmless_text(const LogDiagnosis& diagnosis, const Style& style) {
  if (diagnosis.harmless.empty()) return "";
  constexpr std::size_t most = 6;
  std::string text = "\n" + style.bold("Harmless here") + "\n";
  std::size_t shown = 0;
  std::vector<std::string> said;
  for (const findings::Evidence& one : diagnosis.harmless) {
    if (shown == most) break;
    if (std::find(said.begin(), said.end(), one.meaning) != said.end()) continue;
    said.push_back(one.meaning);
    text += fold(printable(one.meaning) + " (" + place_of(one) + ")", "  ", style.width);
    ++shown;
  }
  return text;
}

}  // namespace

std::string describe_scene(const Scene& scene) {
  std::vector<std::string> parts;
  for (const findings::SceneGpu& gpu : scene.gpus) {
    const std::string name = gpu.name.empty() ? gpu.gfx : printable(gpu.name);
    parts.push_back(gpu.gfx.empty() || gpu.gfx == name ? name
                                                       : fmt::format("{} ({})", name, gpu.gfx));
  }
  if (scene.vram) parts.push_back(to_string(*scene.vram) + " VRAM");
  if (scene.ram) parts.push_back(to_string(*scene.ram) + " RAM");
  if (scene.rocm) parts.push_back("ROCm " + printable(*scene.rocm));
  if (scene.torch) {
    const std::string built = scene.torch_rocm ? " for ROCm " + printable(*scene.torch_rocm) : "";
    parts.push_back("PyTorch " + printable(*scene.torch) + built);
  }
  if (scene.python) parts.push_back("Python " + printable(*scene.python));
  if (scene.machine.kernel) {
    const std::string now =
        scene.kernel_now ? fmt::format(" (now {})", printable(*scene.kernel_now)) : "";
    parts.push_back("Linux " + printable(*scene.machine.kernel) + now);
  }
  if (scene.machine.distribution) parts.push_back(printable(*scene.machine.distribution));
  if (scene.machine.container) parts.push_back("in " + printable(*scene.machine.container));
  return join(parts, ", ");
}

std::string verdict_text(const LogDiagnosis& diagnosis, const Style& style) {
  return fit(verdict_line(diagnosis.verdict, printable(diagnosis.cause.title), style), style.width);
}

std::string to_text(const LogDiagnosis& diagnosis, const Scene& scene, const LogExtent& extent,
                    const Style& style) {
  const findings::Cause& cause = diagnosis.cause;
  std::string text = verdict_text(diagnosis, style);
  std::string read = fmt::format("{}, {} line{}", join(extent.names, ", "), extent.lines,
                                 extent.lines == 1 ? "" : "s");
  const std::string machine = describe_scene(scene);
  if (!machine.empty()) read += "; from " + machine;
  text += style.dim(fold(read, "", style.width));
  text += cause_text(cause, diagnosis.runners_up, style);
  text += consequences_text(diagnosis, style);
  text += tensor_text(diagnosis, style);
  text += growth_text(diagnosis, style);
  text += timeline_text(diagnosis, extent, style);
  text += harmless_text(diagnosis, style);
  if (!cause.fix.empty()) {
    text += "\n" + style.bold("What to do") + "\n" + steps_text(cause.fix, style);
  }
  return fit(text, style.width);
}

}  // namespace headroom::report
