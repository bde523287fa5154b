// SPDX-License-Identifier: Apache-2.0
// `headroom check --json`, schema headroom.check/1 (docs/schema/check.schema.json). What is not
// known is null, and `missing` maps its JSON pointer to the reason.
#pragma once

#include "base/document.h"
#include "facts/facts.h"
#include "findings/diagnosis.h"

namespace headroom::report {

nlohmann::ordered_json to_json(const facts::Facts& facts, const findings::Diagnosis& diagnosis);

}  // namespace headroom::report
