// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>

#include <nlohmann/json.hpp>

#include "report/cause_json.h"
#include "report/check_json.h"
#include "report/log_report.h"

namespace headroom::report {
namespace {

using Ordered = nlohmann::ordered_json;

Ordered text(const std::string& word) {
  return word.empty() ? Ordered(nullptr) : Ordered(word);
}

Ordered bytes(const facts::Fact<Bytes>& fact, const std::string& pointer,
              std::map<std::string, std::string>& missing) {
  if (fact) return fact->value;
  missing[pointer] = "neither the log nor the stated facts say it";
  return nullptr;
}

Ordered write_event(const findings::Event& event) {
  return {{"time", text(event.time)}, {"source", event.log},
          {"line", event.line},       {"origin", text(event.origin)},
          {"what", event.what},       {"role", to_string(event.role)},
          {"times", event.times},     {"last_time", text(event.last_time)}};
}

Ordered write_gpu(const findings::SceneGpu& gpu, const std::string& at,
                  std::map<std::string, std::string>& missing) {
  return {{"gfx", text(gpu.gfx)},
          {"name", text(gpu.name)},
          {"integrated", gpu.integrated ? Ordered(*gpu.integrated) : Ordered(nullptr)},
          {"vram_total_bytes", bytes(gpu.vram, at + "/vram_total_bytes", missing)},
          {"pool_bytes", bytes(gpu.pool, at + "/pool_bytes", missing)},
          {"source", text(gpu.source.path)},
          {"line", gpu.source.line > 0 ? Ordered(gpu.source.line) : Ordered(nullptr)}};
}

Ordered write_tensor(const findings::LogDiagnosis& diagnosis) {
  if (!diagnosis.failed_tensor) return nullptr;
  Ordered matches = Ordered::array();
  for (const estimate::TensorMatch& one : diagnosis.failed_tensor->matches) {
    matches.push_back({{"tensor", one.tensor},
                       {"shape", one.shape},
                       {"dtype", one.dtype},
                       {"bytes", one.bytes},
                       {"error", one.error},
                       {"formula", one.formula},
                       {"removed_by", one.removed_by}});
  }
  return {{"size", diagnosis.failed_tensor->size}, {"matches", std::move(matches)}};
}

Ordered write_growth(const findings::LogDiagnosis& diagnosis) {
  if (!diagnosis.growth) return nullptr;
  const findings::MemoryGrowth& growth = *diagnosis.growth;
  const bool grows = growth.is_growing();
  return {{"kind", to_string(growth.kind)},
          {"confidence", growth.sure},
          {"memory", to_string(growth.memory)},
          {"label", growth.label},
          {"device", text(growth.device)},
          {"unit", growth.unit},
          {"from", growth.from},
          {"to", growth.to},
          {"count", growth.count},
          {"first_bytes", growth.first.value},
          {"last_bytes", growth.last.value},
          {"highest_bytes", growth.highest.value},
          {"bytes_per_step", grows ? Ordered(growth.bytes_per_step) : Ordered(nullptr)},
          {"capacity_bytes", growth.capacity ? Ordered(growth.capacity->value) : Ordered(nullptr)},
          {"reaches_at", growth.reaches_at ? Ordered(*growth.reaches_at) : Ordered(nullptr)},
          {"says", describe(growth)},
          {"evidence", evidence_json({growth.first_line, growth.last_line})}};
}

// What every document with logs in it says of them.
void add_answer(const findings::LogDiagnosis& diagnosis, const LogExtent& extent,
                Ordered& document) {
  document["verdict"] = to_string(diagnosis.verdict);
  document["cause"] = cause_json(diagnosis.cause);
  document["runners_up"] = runners_up_json(diagnosis.runners_up);
  document["consequences"] = Ordered::array();
  for (const auto& one : diagnosis.consequences) {
    document["consequences"].push_back(
        {{"id", one.id}, {"title", one.title}, {"evidence", evidence_json(one.evidence)}});
  }
  document["harmless"] = evidence_json(diagnosis.harmless);
  document["timeline"] = Ordered::array();
  for (const findings::Event& event : diagnosis.timeline) {
    document["timeline"].push_back(write_event(event));
  }
  document["failed_tensor"] = write_tensor(diagnosis);
  document["growth"] = write_growth(diagnosis);
  document["log"] = {{"names", extent.names}, {"lines", extent.lines}, {"bytes", extent.bytes}};
}

}  // namespace

Ordered to_json(const findings::LogDiagnosis& diagnosis, const findings::Scene& scene,
                const LogExtent& extent) {
  std::map<std::string, std::string> missing;
  Ordered document;
  document["schema"] = "headroom.check/1";
  document["machine"] = nullptr;
  missing["/machine"] = "headroom looked at a log, not at the machine that wrote it";
  add_answer(diagnosis, extent, document);
  document["findings"] = Ordered::array();
  document["gpus"] = Ordered::array();
  for (const findings::SceneGpu& gpu : scene.gpus) {
    const std::string at = fmt::format("/gpus/{}", document["gpus"].size());
    document["gpus"].push_back(write_gpu(gpu, at, missing));
  }
  document["missing"] = missing;
  return document;
}

Ordered to_json(const facts::Facts& facts, const findings::Diagnosis& machine,
                const findings::LogDiagnosis& diagnosis, const LogExtent& extent) {
  Ordered document = to_json(facts, machine);
  add_answer(diagnosis, extent, document);
  return document;
}

}  // namespace headroom::report
