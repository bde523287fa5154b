// SPDX-License-Identifier: Apache-2.0
#include "report/cause_json.h"

#include <cmath>

#include <nlohmann/json.hpp>

namespace headroom::report {
namespace {

using Ordered = nlohmann::ordered_json;

// Two digits: a rule's confidence is no measurement.
double rounded(double confidence) {
  return std::round(confidence * 100) / 100;
}

}  // namespace

Ordered evidence_json(const std::vector<findings::Evidence>& evidence) {
  Ordered list = Ordered::array();
  for (const auto& one : evidence) {
    list.push_back({{"source", one.source},
                    {"line", one.line > 0 ? Ordered(one.line) : Ordered(nullptr)},
                    {"text", one.text},
                    {"meaning", one.meaning}});
  }
  return list;
}

Ordered cause_json(const findings::Cause& cause) {
  return {{"id", cause.id},
          {"title", cause.title},
          {"confidence", rounded(cause.confidence)},
          {"reasons", cause.reasons},
          {"evidence", evidence_json(cause.evidence)},
          {"against", evidence_json(cause.against)},
          {"fix", findings::texts_of(cause.fix)}};
}

Ordered runners_up_json(const std::vector<findings::Alternative>& runners_up) {
  Ordered list = Ordered::array();
  for (const auto& runner : runners_up) {
    list.push_back({{"id", runner.id},
                    {"confidence", rounded(runner.confidence)},
                    {"would_tell", runner.would_tell}});
  }
  return list;
}

}  // namespace headroom::report
