// SPDX-License-Identifier: Apache-2.0
#include "knowledge/origin.h"

#include "base/document_reader.h"

namespace headroom::knowledge {

Origin read_origin(TableReader& row) {
  Origin origin;
  origin.certainty = row.word<Certainty>("certainty", {{"A", Certainty::read},
                                                       {"B", Certainty::measured},
                                                       {"C", Certainty::secondary},
                                                       {"D", Certainty::inferred}});
  origin.source = row.text("source");
  if (origin.source.empty()) row.wrong("source", "where it is known from");
  return origin;
}

const char* to_string(Certainty certainty) {
  switch (certainty) {
    case Certainty::read:
      return "A";
    case Certainty::measured:
      return "B";
    case Certainty::secondary:
      return "C";
    case Certainty::inferred:
      break;
  }
  return "D";
}

}  // namespace headroom::knowledge
