// SPDX-License-Identifier: Apache-2.0
// The parts of `headroom check --json` about links between GPUs and about the Python stack. Each
// takes the pointer of what it writes, and adds to `missing` why its nulls are null.
#pragma once

#include <map>
#include <string>

#include "base/document_fwd.h"
#include "facts/facts.h"

namespace headroom::report {

using MissingReasons = std::map<std::string, std::string>;

nlohmann::ordered_json pcie_json(const facts::Connection& connection, const std::string& at,
                                 MissingReasons& missing);
nlohmann::ordered_json links_json(const facts::Interconnect& interconnect, MissingReasons& missing);
nlohmann::ordered_json python_json(const facts::PythonStack& python, MissingReasons& missing);

}  // namespace headroom::report
