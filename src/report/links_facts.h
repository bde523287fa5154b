// SPDX-License-Identifier: Apache-2.0
// The rows of the list of facts that are about links between GPUs and about the Python stack.
#pragma once

#include <vector>

#include "facts/facts.h"
#include "report/fact_list.h"

namespace headroom::report {

std::vector<FactRow> connection_rows(const facts::Gpu& gpu);
// None without a GPU: nothing of it was asked then.
std::vector<FactRow> interconnect_rows(const facts::Facts& facts);
std::vector<FactRow> python_rows(const facts::PythonStack& python);

}  // namespace headroom::report
