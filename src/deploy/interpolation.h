// SPDX-License-Identifier: Apache-2.0
// Variables in a compose file's values, filled in as compose does it (Compose Specification,
// "Interpolation"): $NAME, ${NAME}, ${NAME:-default}, ${NAME-default}; $$ is a dollar sign.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace headroom::deploy {

// What stays unknown (no such variable and no default, another form) is left as it is written.
std::string fill_in_variables(std::string_view text,
                              const std::map<std::string, std::string>& variables);

}  // namespace headroom::deploy
