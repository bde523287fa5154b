// SPDX-License-Identifier: Apache-2.0
// What this machine says to a service's description: whether its image, devices and limits fit the
// GPUs that are here, and whether its health check would notice a failure. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deploy/service_file.h"
#include "facts/facts.h"
#include "findings/diagnosis.h"
#include "knowledge/gpu_tables.h"

namespace headroom::deploy {

struct ServiceRemark {
  enum class Answer : std::uint8_t {
    fits,     // Nothing has to be done.
    note,     // It works; here is what to know.
    misfits,  // Something has to change.
  };
  std::string about;  // "image", "devices", "memory", "health check", "file", "not read".
  std::string value;  // As the file says it; empty where it says nothing.
  Answer answer = Answer::fits;
  std::string says;      // One sentence.
  std::string advice;    // What to do; empty where there is nothing.
  std::size_t line = 0;  // Where the value stands, from 1; 0: not in one line of this file.
};

struct ServiceJudgement {
  std::string name;
  std::vector<ServiceRemark> remarks;
};

// Services that neither take a GPU's devices nor an image for one are left out: they are nothing to
// this program.
std::vector<ServiceJudgement> judge_services(const std::vector<DescribedService>& services,
                                             const facts::Facts& facts,
                                             const findings::Diagnosis& diagnosis,
                                             const knowledge::GpuTables& tables);

bool has_misfit(const std::vector<ServiceJudgement>& services);
std::string_view to_string(ServiceRemark::Answer answer);

}  // namespace headroom::deploy
