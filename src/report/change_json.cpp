// SPDX-License-Identifier: Apache-2.0
#include "report/change_json.h"

#include "base/byte_json.h"
#include "base/document.h"
#include "plan/change_json.h"
#include "report/change_text.h"

namespace headroom::report {
namespace {

using Ordered = nlohmann::ordered_json;

// The limits as they are, rung by rung as they are predicted.
Ordered limits_now(const plan::Change& change, const facts::Facts& now) {
  Ordered limits = Ordered::array();
  if (!change.forecast) return limits;
  for (const plan::PredictedRung& rung : change.forecast->rungs) {
    for (const facts::Gpu& gpu : now.gpus) {
      if (gpu.pci != rung.gpu) continue;
      const facts::Rung* found = gpu.ladder.rung(rung.rung);
      const bool known = found != nullptr && found->limit;
      limits.push_back({{"gpu", gpu.pci},
                        {"rung", rung.rung},
                        {"limit_bytes", known ? Ordered(found->limit->value) : Ordered(nullptr)},
                        {"binding", found != nullptr && found->binding}});
    }
  }
  return limits;
}

}  // namespace

std::string to_json_text(const plan::Change& change, const facts::Facts& now) {
  Ordered json;
  json["schema"] = "headroom.fix/1";
  json.update(plan::to_json(change));
  json["limits_now"] = limits_now(change, now);
  json["next"] = bytes_to_json(apply_command(change));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace headroom::report
