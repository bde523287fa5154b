// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "report/cause_json.h"
#include "report/log_report.h"

namespace headroom::report {
namespace {

using Ordered = nlohmann::ordered_json;

class Writer {
 public:
  Ordered write(const findings::LogDiagnosis& diagnosis, const findings::Scene& scene,
                const LogExtent& extent) {
    Ordered document;
    document["schema"] = "headroom.check/1";
    document["machine"] = nullptr;
    missing_["/machine"] = "a log was looked at, not the machine that wrote it";
    document["verdict"] = to_string(diagnosis.verdict);
    document["cause"] = cause_json(diagnosis.cause);
    document["runners_up"] = runners_up_json(diagnosis.runners_up);
    document["findings"] = Ordered::array();
    document["consequences"] = Ordered::array();
    for (const auto& one : diagnosis.consequences) {
      document["consequences"].push_back(
          {{"id", one.id}, {"title", one.title}, {"evidence", evidence_json(one.evidence)}});
    }
    document["harmless"] = evidence_json(diagnosis.harmless);
    document["log"] = {{"names", extent.names}, {"lines", extent.lines}, {"bytes", extent.bytes}};
    document["gpus"] = Ordered::array();
    for (const findings::SceneGpu& gpu : scene.gpus) document["gpus"].push_back(write_gpu(gpu));
    document["missing"] = missing_;
    return document;
  }

 private:
  static Ordered text(const std::string& word) {
    return word.empty() ? Ordered(nullptr) : Ordered(word);
  }
  static Ordered bytes(const facts::Fact<Bytes>& fact) {
    return fact ? Ordered(fact->value) : Ordered(nullptr);
  }
  static Ordered write_gpu(const findings::SceneGpu& gpu) {
    return {{"gfx", text(gpu.gfx)},
            {"name", text(gpu.name)},
            {"integrated", gpu.integrated ? Ordered(*gpu.integrated) : Ordered(nullptr)},
            {"vram_total_bytes", bytes(gpu.vram)},
            {"pool_bytes", bytes(gpu.pool)},
            {"source", text(gpu.source.path)},
            {"line", gpu.source.line > 0 ? Ordered(gpu.source.line) : Ordered(nullptr)}};
  }

  std::map<std::string, std::string> missing_;
};

}  // namespace

Ordered to_json(const findings::LogDiagnosis& diagnosis, const findings::Scene& scene,
                const LogExtent& extent) {
  return Writer().write(diagnosis, scene, extent);
}

}  // namespace headroom::report
