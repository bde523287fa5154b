// SPDX-License-Identifier: Apache-2.0
// A machine at one moment as JSON, schema headroom.live/1 (docs/schema/live.schema.json): what the
// live page shows. What is not known is null; `headroom check --json` says why.
#pragma once

#include "base/document_fwd.h"
#include "live/moment.h"

namespace headroom::report {

nlohmann::ordered_json live_json(const live::Moment& moment);

}  // namespace headroom::report
