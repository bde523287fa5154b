// SPDX-License-Identifier: Apache-2.0
// `headroom fix` without a name: what could be mended on this machine, and the command for
// each. What the list says of a fix is what its plan comes to.
#pragma once

#include <string>
#include <vector>

#include "facts/facts.h"
#include "findings/diagnosis.h"
#include "plan/fix.h"
#include "report/style.h"

namespace headroom::report {

struct ListedFix {
  const plan::Fix* fix = nullptr;
  plan::Outlook outlook;
};

// Every fix, in the order of the table. What check found decides what comes next: where no fix
// mends the root cause, the steps that do are named, and never check itself again. `root`: as for
// check's to_text().
std::string fixes_to_text(const std::vector<ListedFix>& fixes, const findings::Diagnosis& diagnosis,
                          const facts::Facts& facts, const Style& style,
                          const std::string& root = "/");
// Schema headroom.fixes/1: every fix, with whether it applies here.
std::string fixes_to_json_text(const std::vector<ListedFix>& fixes);

}  // namespace headroom::report
