// SPDX-License-Identifier: Apache-2.0
// How the plan of a program with rules of its own is printed, whichever program it is.
#pragma once

#include "base/document.h"
#include "cli/commands.h"
#include "machine/terminal.h"
#include "report/diffusion_report.h"
#include "report/llama_report.h"
#include "report/style.h"
#include "report/vllm_report.h"

namespace headroom::cli {

// `plan` has a to_json() and a to_text() in report. The exit code.
template <class Plan>
int print_engine_plan(const Plan& plan, bool as_json, const Context& context) {
  if (as_json) {
    context.printer.print_json(report::to_json(plan));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(report::to_text(plan, style));
  }
  return plan.fits == false ? exit_findings : exit_ok;
}

}  // namespace headroom::cli
