// SPDX-License-Identifier: Apache-2.0
// What `headroom check --watch NAME` reads: the journal of a systemd unit or the log of a
// container, whichever of them exists.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace headroom::cli {

struct LogSource {
  std::string name;               // "unit ollama", "container immich_server": for the report.
  std::vector<std::string> argv;  // The program that writes its log for as long as it goes on.
};

// `name` may say which it is: "unit:ollama", "container:ollama". Asks systemctl, docker and podman,
// in this order. Fails if none of them knows it.
Result<LogSource> find_log_source(const std::string& name);

}  // namespace headroom::cli
