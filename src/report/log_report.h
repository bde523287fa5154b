// SPDX-License-Identifier: Apache-2.0
// What logs told, for programs and for people.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

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

std::string to_text(const findings::LogDiagnosis& diagnosis, const findings::Scene& scene,
                    const LogExtent& extent, const Style& style);

}  // namespace headroom::report
