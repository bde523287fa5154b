// SPDX-License-Identifier: Apache-2.0
// `headroom check` for people: the verdict first, then the root cause with its evidence, each GPU's
// memory ladder with the rung that binds, who holds memory, and what to do next.
#pragma once

#include <string>

#include "facts/facts.h"
#include "findings/diagnosis.h"
#include "report/style.h"

namespace headroom::report {

enum class Detail {
  quiet,  // The verdict line alone.
  normal,
  verbose,  // Every fact with its source, and the rungs that do not apply.
};

// What a report on a machine has beside the machine itself.
struct AroundCheck {
  std::string services = {};  // misfits_text() of the services described on the machine.
  // The captured machine that was looked at, which the command to type next names as well; "/" is
  // this one.
  std::string root = "/";
};
std::string to_text(const facts::Facts& facts, const findings::Diagnosis& diagnosis, Detail detail,
                    const Style& style, const AroundCheck& around = {});

}  // namespace headroom::report
