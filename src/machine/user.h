// SPDX-License-Identifier: Apache-2.0
// Who runs this program.
#pragma once

namespace headroom::machine {

// The superuser: nobody can see more by becoming one.
bool runs_as_root();

}  // namespace headroom::machine
