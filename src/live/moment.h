// SPDX-License-Identifier: Apache-2.0
// A machine at one moment, for who watches it: what check says, what only shows while it changes,
// and what became of the jobs and deployments that headroom had in hand.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "deploy/record.h"
#include "facts/facts.h"
#include "facts/gpu_sensors.h"
#include "findings/diagnosis.h"
#include "supervisor/past_command.h"

namespace headroom::live {

// How supervised commands ended, since this user's history began.
struct RunCounts {
  std::uint64_t completed = 0;
  std::uint64_t out_of_memory = 0;  // Attempts; the run may have gone on with less.
  std::uint64_t failed = 0;         // Otherwise.

  bool any() const { return completed + out_of_memory + failed > 0; }
};

RunCounts count_runs(const std::vector<supervisor::PastCommand>& attempts);

struct Moment {
  std::string root = "/";  // Which machine, as typed; "/" is this one.
  std::chrono::milliseconds since_1970{0};
  std::chrono::microseconds look{0};  // How long it took to look.
  facts::Facts facts;
  findings::Diagnosis diagnosis;
  std::vector<facts::GpuSensors> sensors;  // One for each of the facts' GPUs, in their order.
  // Of each holder, by its PID: how much of the time since the last look it kept engines of each
  // GPU, by its PCI address, busy; 1 is one engine all of the time. Empty at the first look, and
  // for what works on KFD's queues, whose time no file tells.
  std::map<std::uint64_t, std::map<std::string, double>> engines;
  RunCounts runs;
  std::vector<deploy::Record> deployments;  // The last of each service.
};

}  // namespace headroom::live
