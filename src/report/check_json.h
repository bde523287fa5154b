// SPDX-License-Identifier: Apache-2.0
// `headroom check --json`, schema headroom.check/1 (docs/schema/check.schema.json). What is not
// known is null, and `missing` maps its JSON pointer to the reason.
#pragma once

#include "base/document_fwd.h"
#include "facts/facts.h"
#include "findings/diagnosis.h"

namespace headroom::report {

nlohmann::ordered_json to_json(const facts::Facts& facts, const findings::Diagnosis& diagnosis);

// Any document of ours as it is printed. Bytes that are no UTF-8, which a machine's files may hold,
// become U+FFFD.
std::string to_text(const nlohmann::ordered_json& document);
std::string to_json_text(const facts::Facts& facts, const findings::Diagnosis& diagnosis);

}  // namespace headroom::report
