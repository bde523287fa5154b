// SPDX-License-Identifier: Apache-2.0
#include "knowledge/subjects.h"

#include "knowledge/embedded.h"

namespace headroom::knowledge {

Result<SignatureTable> load_subjects() {
  auto table = parse_signatures(embedded("subjects"));
  if (table) return table;
  return Error{table.error().code, "data/subjects.toml: " + table.error().message,
               "mend data/subjects.toml"};
}

}  // namespace headroom::knowledge
