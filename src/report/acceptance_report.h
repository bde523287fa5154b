// SPDX-License-Identifier: Apache-2.0
// What `headroom accept` found: whether what headroom offers works on this machine, part by part.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/document_fwd.h"
#include "report/style.h"

namespace headroom::report {

struct AcceptanceStep {
  std::string name;         // "test".
  std::string meaning;      // "the user's PyTorch on every GPU".
  std::optional<bool> ok;   // Nothing: not done, for the reason in `detail`.
  std::optional<int> code;  // Of the command.
  double seconds = 0;
  std::string command;  // What repeats it.
  std::string detail;   // Why it failed or was not done; may be empty.
  std::string file;     // Where its answer lies in the record; empty: it has none.
};

struct Acceptance {
  std::string output;             // As typed.
  std::string kernel, rocm;       // Empty: not known.
  std::vector<std::string> gpus;  // "AMD Radeon RX 7900 XT (gfx1100)".
  std::vector<AcceptanceStep> steps;
};

bool has_failure(const Acceptance& acceptance);

std::string to_text(const Acceptance& acceptance, const Style& style);
// headroom.accept/1 (docs/schema/accept.schema.json).
nlohmann::ordered_json to_json(const Acceptance& acceptance);

}  // namespace headroom::report
