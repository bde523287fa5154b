// SPDX-License-Identifier: Apache-2.0
// Boot loader entries of type 1 (UAPI.1 Boot Loader Specification): one file per entry, lines of a
// key and its value; "options" may stand several times, and all of them count, in their order.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/boot_setup.h"
#include "plan/boot/boot_steps.h"

namespace headroom::plan {

// The loader entries of this machine that start Linux, by path.
std::vector<const facts::ConfigFile*> linux_entries(const facts::BootSetup& boot);

// The first value of a key; nothing where no line has it.
std::optional<std::string_view> entry_value(std::string_view entry, std::string_view key);
// All that it hands the kernel, in one line.
std::string entry_options(std::string_view entry);
// The value of the first line with that key replaced; a line is added where there is none.
std::string with_entry_value(std::string_view entry, std::string_view key, std::string_view value);
// The entry with its command line edited.
std::string edit_entry(std::string_view entry, const ArgumentChange& change);
// "MACHINE-6.14.0": the file's name without ".conf" and without boot counters ("+3-1").
std::string entry_id(std::string_view path);
// The last value of a key, which counts in loader.conf.
std::optional<std::string_view> last_value(std::string_view text, std::string_view key);
// The entry of the kernel that runs now, as far as its version or its initramfs tells; else the
// only one there is; nullptr where it is not clear.
const facts::ConfigFile* find_running_entry(const facts::BootSetup& boot);
// The files that the entries load from their partition, of lines with these keys: kernels, images.
std::vector<std::string> files_loaded(const facts::BootSetup& boot,
                                      const std::vector<std::string>& keys);
// Made for the day that nothing else starts; left as it is.
bool is_fallback_entry(const facts::ConfigFile& entry);

}  // namespace headroom::plan
