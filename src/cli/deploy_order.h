// SPDX-License-Identifier: Apache-2.0
// What `deploy` and `tune` share at the command line: a SERVICE.toml that is read, what the shell
// says, and an interrupted deployment whose SERVICE.toml is gone.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/commands.h"
#include "report/style.h"
#include "service/deployment.h"

namespace headroom::cli {

report::Style style_of_stdout();

// `file` as typed. Fails with what is wrong with it.
Result<service::DeployOrder> read_order(const std::string& file);

// The file may have been changed or removed since a deployment of it was killed. What that one was
// asked to do is kept beside its record, and is enough to finish it. Nothing: none was interrupted.
std::optional<service::DeployOrder> read_interrupted(const std::string& file,
                                                     const Context& context);

// The order, or the one that finishes what was interrupted, which is said. Fails as read_order().
Result<service::DeployOrder> read_order_or_interrupted(const std::string& file, bool is_here,
                                                       const Context& context);

// Fills in what the shell says. Fails where there is no place for records.
Status complete(service::DeployOrder& order, const Context& context);

}  // namespace headroom::cli
