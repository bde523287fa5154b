// SPDX-License-Identifier: Apache-2.0
// Where a row of knowledge comes from and how sure it is: every row of data/*.toml says both,
// itself or for its group.
#pragma once

#include <string>

namespace headroom {
class TableReader;
}

namespace headroom::knowledge {

enum class Certainty {
  read,       // A: read in source, or in AMD's own data.
  measured,   // B: measured by users, and consistent with the code.
  secondary,  // C: from secondary text.
  inferred,   // D: our own inference.
};

struct Origin {
  Certainty certainty = Certainty::inferred;
  std::string source;  // Letters of gpus.toml's [sources], projects' paths, or issues.
};

// The row's keys `certainty` and `source`; both must be there.
Origin read_origin(TableReader& row);

// "A" to "D".
const char* to_string(Certainty certainty);

}  // namespace headroom::knowledge
