// SPDX-License-Identifier: Apache-2.0
// Every fact as one row: what, its value or why it is missing, and where it comes from. For
// `check --verbose` and for `facts` in headroom.check/1.
#pragma once

#include <string>
#include <vector>

#include "facts/facts.h"
#include "report/style.h"

namespace headroom::report {

struct FactRow {
  std::string gpu;      // PCI address; empty: the machine.
  std::string name;     // "VRAM in use".
  std::string value;    // For people; empty where missing.
  std::string missing;  // Why there is no value; empty where there is one.
  std::string source;
  int line = 0;  // From 1; 0 where lines have no meaning.
};

// What a partition has in common with the first one of its card is not repeated.
std::vector<FactRow> list_facts(const facts::Facts& facts);
std::string to_text(const std::vector<FactRow>& rows, const Style& style);

}  // namespace headroom::report
