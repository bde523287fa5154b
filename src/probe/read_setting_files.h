// SPDX-License-Identifier: Apache-2.0
// The files that settings of the environment hide in, for fixes that edit them: shell files of one
// user and of the system, login files, units and drop-ins, quadlets, compose files with their .env,
// and the files that these name as EnvironmentFile=. Also what other fixes add to: /etc/group,
// limits.d, our own udev rules. What cannot be read is left out.
#pragma once

#include <string>
#include <vector>

#include "facts/boot_setup.h"
#include "machine/files.h"

namespace headroom::probe {

// `home` is the home folder of the user who is meant, on that machine; empty: none. Every file
// once, by its path with links followed. Folders are searched for compose files three levels deep
// in `home`, two in /opt and /srv, at most 4000 folders, and wherever docker's containers come
// from; files over 256 KiB are left out.
std::vector<facts::ConfigFile> read_setting_files(const machine::Files& files,
                                                  const std::string& home);

}  // namespace headroom::probe
