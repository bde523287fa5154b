// SPDX-License-Identifier: Apache-2.0
// `headroom plan --explain`: which tensors a printed size can be, for people and for programs
// (docs/schema/explain.schema.json).
#pragma once

#include <string>
#include <vector>

#include "base/document_fwd.h"
#include "estimate/explain.h"

namespace headroom::report {

struct Explanation {
  std::string asked;  // As it was given: "3.99GiB".
  estimate::PrintedSize printed;
  estimate::JobDimensions known;
  std::vector<estimate::TensorMatch> matches;  // The most plausible first.
};

std::string to_text(const Explanation& explanation, std::size_t width);
Json to_json(const Explanation& explanation);

}  // namespace headroom::report
