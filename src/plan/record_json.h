// SPDX-License-Identifier: Apache-2.0
// A record of the journal as the text of its record.json (schema headroom.record/1), and back.
#pragma once

#include <string>
#include <string_view>

#include "base/document_fwd.h"
#include "plan/record.h"

namespace headroom::plan {

nlohmann::ordered_json to_json(const Record& record);
std::string to_json_text(const Record& record);  // With a line end.

// Fails with invalid where a field is missing, has another type or leads out of the journal's
// folder, and with unsupported where another version wrote it.
Result<Record> record_from_json(const Json& json);
Result<Record> parse_record(std::string_view text);

}  // namespace headroom::plan
