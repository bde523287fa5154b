// SPDX-License-Identifier: Apache-2.0
// A service's log and the kernel's messages, by the log rules of `headroom check --log`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "deploy/judge.h"
#include "facts/facts.h"
#include "knowledge/gpu_tables.h"
#include "logs/matcher.h"

namespace headroom::service {

class LogLook {
 public:
  // `machine` and `tables` must outlive this.
  static Result<std::unique_ptr<LogLook>> make(const facts::Facts& machine,
                                               const knowledge::GpuTables& tables);

  deploy::LogVerdict judge(const std::string& service_log, const std::string& kernel_log) const;
  // The lines of the kernel that mean trouble with a GPU.
  std::vector<std::string> alarms(const std::string& kernel_log) const;

 private:
  LogLook(const facts::Facts& machine, const knowledge::GpuTables& tables)
      : machine_(machine), tables_(tables) {}

  const facts::Facts& machine_;
  const knowledge::GpuTables& tables_;
  knowledge::SignatureTable signatures_;
  std::unique_ptr<logs::Matcher> matcher_;
};

}  // namespace headroom::service
