// SPDX-License-Identifier: Apache-2.0
// What a forked child that is not to become another program does first.
#pragma once

namespace headroom::machine {

// Closes every descriptor but `kept`: what a child has copies of would seem in use, a pipe to the
// command's reader for instance. Takes neither memory nor a lock.
void close_all_but(int kept);

}  // namespace headroom::machine
