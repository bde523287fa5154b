// SPDX-License-Identifier: Apache-2.0
#include "run/training_modules.h"

#include "estimate/job_words.h"

namespace headroom::run {

void take_saved_modules(TrainingSettings& settings) {
  if (!settings.has("saved")) return;
  Json planned = Json::array();
  for (const Json& one : settings.value("saved")) {
    const auto meant = estimate::targets_of(one.get<std::string>());
    if (meant.size() == 1 && !estimate::is_in_layers(meant.front()))
      planned.push_back(one);
    else
      settings.leave_out(settings.given("saved").option + ": " + one.get<std::string>());
  }
  if (!planned.empty()) settings.take("method.modules_to_save", planned, "saved");
}

void take_liger(TrainingSettings& settings, bool prefers) {
  if (!settings.is_set("liger")) return;
  if (prefers) return settings.leave_out(settings.given("liger").option);
  settings.take("compute.use_liger_kernel", true, "liger");
  if (settings.has("liger_config"))
    settings.take("compute.liger_kernel_config", settings.value("liger_config"), "liger_config");
}

}  // namespace headroom::run
