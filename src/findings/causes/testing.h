// SPDX-License-Identifier: Apache-2.0
// For tests of the cause rules: goes the whole way from a log's text to the answer.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "findings/log_diagnosis.h"
#include "knowledge/gpu_tables.h"
#include "knowledge/signatures.h"
#include "logs/log_reader.h"

namespace headroom::findings::testing {

struct Tables {
  knowledge::GpuTables gpus = *knowledge::load_gpu_tables();
  knowledge::SignatureTable signatures = *knowledge::load_signatures();
  logs::Matcher matcher = *logs::Matcher::make(signatures);
};

inline const Tables& tables() {
  static const Tables all;
  return all;
}

// `stated` is a JSON object with the keys of docs/logs.md; `measured` may be null.
inline LogDiagnosis diagnose(std::string_view log, std::string_view stated = "{}",
                             const facts::Facts* measured = nullptr) {
  logs::Observations observations;
  logs::LogReader reader(tables().matcher, observations, 0, "job.log");
  reader.feed(log);
  reader.finish();
  const auto facts = facts::parse_stated(stated, "stated.json");
  EXPECT_TRUE(facts.has_value()) << stated;
  const std::vector<std::string> names = {"job.log"};
  const Scene scene =
      make_scene(observations, facts ? *facts : facts::Stated{}, measured, tables().gpus);
  return diagnose_logs({observations, scene, tables().gpus, names});
}

inline double confidence_of(const LogDiagnosis& diagnosis, std::string_view id) {
  if (diagnosis.cause.id == id) return diagnosis.cause.confidence;
  for (const Alternative& one : diagnosis.runners_up) {
    if (one.id == id) return one.confidence;
  }
  return 0;
}

}  // namespace headroom::findings::testing
