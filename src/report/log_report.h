// SPDX-License-Identifier: Apache-2.0
// What logs told, for programs and for people.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "findings/log_diagnosis.h"
#include "report/style.h"

namespace headroom::report {

// What was read: for the first line of a report.
struct LogExtent {
  std::vector<std::string> names;  // "worker.log", "standard input".
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
};

// headroom.check/1 without a machine: `machine` is null, `gpus` is what log and stated facts tell.
nlohmann::ordered_json to_json(const findings::LogDiagnosis& diagnosis,
                               const findings::Scene& scene, const LogExtent& extent);

// "Radeon RX 7900 XT (gfx1100), 20.00 GiB VRAM, ROCm 6.2": what is known of the machine; or empty.
std::string describe_scene(const findings::Scene& scene);

// headroom.check/1 of a machine and the logs that it wrote: the cause is the logs', the findings
// are the machine's.
nlohmann::ordered_json to_json(const facts::Facts& facts, const findings::Diagnosis& machine,
                               const findings::LogDiagnosis& diagnosis, const LogExtent& extent);

// The verdict line alone.
std::string verdict_text(const findings::LogDiagnosis& diagnosis, const Style& style);
std::string to_text(const findings::LogDiagnosis& diagnosis, const findings::Scene& scene,
                    const LogExtent& extent, const Style& style);

// Markdown for a person to file: summary, timeline, root cause, evidence, what to change.
std::string to_postmortem(const findings::LogDiagnosis& diagnosis, const findings::Scene& scene,
                          const LogExtent& extent);

}  // namespace headroom::report
