// SPDX-License-Identifier: Apache-2.0
// What a machine says to the services that a quadlet or a compose file describes: as text and as
// JSON.
#pragma once

#include <string>
#include <vector>

#include "base/document_fwd.h"
#include "deploy/service_judgement.h"
#include "findings/knob_audit.h"
#include "report/style.h"

namespace headroom::report {

// One paragraph for each service; empty where there is none.
std::string services_text(const std::vector<deploy::ServiceJudgement>& services,
                          const Style& style);
// "does-not-fit", "dangerous", "not-certain", "settings-to-change" or "ok", the first that holds.
std::string_view file_verdict(const std::vector<deploy::ServiceJudgement>& services,
                              const std::vector<findings::Judgement>& settings);
// The same in a line with what it is about, before all else: what of its services does not fit this
// machine, which settings are dangerous, or else which should change.
std::string file_headline(const std::string& file,
                          const std::vector<deploy::ServiceJudgement>& services,
                          const std::vector<findings::Judgement>& settings, const Style& style);
// Only what does not fit, for a report on the whole machine.
std::string misfits_text(const std::vector<deploy::ServiceJudgement>& services, const Style& style);
// The key "services" of headroom.check/1.
nlohmann::ordered_json services_json(const std::vector<deploy::ServiceJudgement>& services);

}  // namespace headroom::report
