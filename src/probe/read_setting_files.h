// SPDX-License-Identifier: Apache-2.0
// Reads the files that may set environment variables, for fixes that edit them: shell files of one
// user and of the system, login files, units and drop-ins, quadlets, compose files with their .env,
// and the files that these name as EnvironmentFile=. It also reads the files that other fixes add
// to: /etc/group, limits.d, headroom's own udev rules. What cannot be read is left out.
#pragma once

#include <string>
#include <vector>

#include "facts/boot_setup.h"
#include "machine/files.h"

namespace headroom::probe {

// `home` is the user's home folder on that machine; empty if there is none. Each file is read once,
// under its path with links followed. Compose files are searched three levels deep in `home`, two
// in /opt and /srv, in at most 4000 folders, and where docker's containers were started from. Files
// over 256 KiB are left out.
std::vector<facts::ConfigFile> read_setting_files(const machine::Files& files,
                                                  const std::string& home);

}  // namespace headroom::probe
