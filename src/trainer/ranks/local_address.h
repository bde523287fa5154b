// SPDX-License-Identifier: Apache-2.0
// The address under which another machine reaches this one.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace headroom::trainer {

// The address from which this machine would send to `host`, numerically: of the interface that the
// routes choose. Nothing is sent. Fails where the name is not known or no route leads there.
Result<std::string> address_towards(const std::string& host, std::uint16_t port);

// Whether it is one of 127.0.0.0/8, or ::1.
bool is_loopback(const std::string& address);

}  // namespace headroom::trainer
