// SPDX-License-Identifier: Apache-2.0
// A change as JSON and back, nothing lost: what the journal keeps of it, and what
// `headroom fix --json` prints.
#pragma once

#include "base/document_fwd.h"
#include "plan/change.h"

namespace headroom {

struct DocumentWords;
class TableReader;

namespace plan {

nlohmann::ordered_json to_json(const Step& step);
nlohmann::ordered_json to_json(const Forecast& forecast);
nlohmann::ordered_json to_json(const Change& change);

// How errors speak of a record or of a part of one.
DocumentWords record_words();
// Fails with invalid, with the place and what was expected there.
Result<Change> change_from_json(const Json& json);
// The same as part of a larger document, whose reader keeps the error.
Change read_change(TableReader& table);

}  // namespace plan
}  // namespace headroom
