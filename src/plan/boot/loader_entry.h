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
// loader.conf beside the entries; nullptr where it could not be read.
const facts::ConfigFile* loader_configuration(const facts::BootSetup& boot);
// The last value of a key, which counts in loader.conf.
std::optional<std::string_view> last_value(std::string_view text, std::string_view key);
// How the names of the entries end that headroom makes for one boot: of systemd-boot, of GRUB.
inline constexpr std::string_view systemd_trial_file = "headroom-trial.conf";
inline constexpr std::string_view trial_entry_end = "-0-headroomtrial.conf";
bool is_trial_entry(const facts::ConfigFile& entry);

// The entry whose id or title it is, as GRUB looks for its default; nullptr where there is none. A
// trial's entry is never meant.
const facts::ConfigFile* find_named_entry(const facts::BootSetup& boot, std::string_view name);
// The entry of the kernel that runs now, as far as its version or its initramfs tells; else the
// only one there is; nullptr where it is not clear. A trial's entry is never meant.
const facts::ConfigFile* find_running_entry(const facts::BootSetup& boot);
// Whether the entry starts that kernel: by its version, or where that is not written anywhere, by
// its initramfs.
bool starts_kernel(const facts::ConfigFile& entry, const facts::InstalledKernel& kernel);
// Entries of this system, without those for rescue: another one's, on the same partition, has
// another root than the running one. Where that is not known (nullptr), all are taken for ours.
std::vector<const facts::ConfigFile*> own_entries(const facts::BootSetup& boot,
                                                  const facts::ConfigFile* running);
// The files that one entry loads from its partition, in its order, and those of all entries, of
// lines with these keys: kernels, images.
std::vector<std::string> files_loaded(const facts::BootSetup& boot, const facts::ConfigFile& entry,
                                      const std::vector<std::string>& keys);
std::vector<std::string> files_loaded(const facts::BootSetup& boot,
                                      const std::vector<std::string>& keys);
// Made for the day that nothing else starts; left as it is.
bool is_fallback_entry(const facts::ConfigFile& entry);

}  // namespace headroom::plan
