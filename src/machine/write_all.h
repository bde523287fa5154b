// SPDX-License-Identifier: Apache-2.0
// Every byte to a descriptor, whatever kind of file it is.
#pragma once

#include <string_view>

namespace headroom::machine {

// 0, or the errno that ended it. A signal does not, nor does a descriptor that would have to wait:
// this waits in its place.
int write_all(int fd, std::string_view bytes);

}  // namespace headroom::machine
