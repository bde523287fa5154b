// SPDX-License-Identifier: Apache-2.0
#include "service/log_look.h"

#include <utility>

#include "findings/calibration.h"
#include "findings/log_diagnosis.h"
#include "logs/log_reader.h"

namespace headroom::service {
namespace {

struct Read {
  logs::Observations observations;
  std::vector<std::string> names;
};

void read(const logs::Matcher& matcher, const std::string& text, const std::string& name,
          Read& into) {
  if (text.empty()) return;
  into.names.push_back(name);
  logs::LogReader reader(matcher, into.observations, into.names.size() - 1, name);
  reader.feed(text);
  reader.finish();
}

}  // namespace

Result<std::unique_ptr<LogLook>> LogLook::make(const facts::Facts& machine,
                                               const knowledge::GpuTables& tables) {
  std::unique_ptr<LogLook> it(new LogLook(machine, tables));
  HEADROOM_TRY(it->signatures_, knowledge::load_signatures());
  HEADROOM_TRY(auto matcher, logs::Matcher::make(it->signatures_));
  it->matcher_ = std::make_unique<logs::Matcher>(std::move(matcher));
  return it;
}

deploy::LogVerdict LogLook::judge(const std::string& service_log,
                                  const std::string& kernel_log) const {
  Read seen;
  read(*matcher_, service_log, "the service's log", seen);
  read(*matcher_, kernel_log, "the kernel's log", seen);
  deploy::LogVerdict verdict;
  if (seen.names.empty()) return verdict;
  const auto scene = findings::make_scene(seen.observations, {}, &machine_, tables_);
  auto diagnosis =
      findings::diagnose_logs({seen.observations, scene, tables_, seen.names, nullptr});
  findings::calibrate(diagnosis);
  const std::string& id = diagnosis.cause.id;
  if (!id.empty() && id != "none" && id != "insufficient-evidence")
    verdict.cause = std::move(diagnosis.cause);
  verdict.saw_death =
      seen.observations.any_of({"worker-killed", "aborted", "signal-exit", "oom-killed", "killed",
                                "job-killed", "restarted", "runner-died"});
  return verdict;
}

std::vector<std::string> LogLook::alarms(const std::string& kernel_log) const {
  std::vector<std::string> lines;
  if (kernel_log.find("amdgpu") == std::string::npos &&
      kernel_log.find("kfd") == std::string::npos) {
    return lines;
  }
  Read seen;
  read(*matcher_, kernel_log, "the kernel's log", seen);
  for (const logs::Observation& one : seen.observations.all()) {
    if (one.signature->role == knowledge::Role::failure) lines.push_back(one.text);
  }
  return lines;
}

}  // namespace headroom::service
