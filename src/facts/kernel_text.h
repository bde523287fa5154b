// SPDX-License-Identifier: Apache-2.0
// Parsers of single kernel and system files, each text → value and pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "facts/text_facts.h"

namespace headroom::facts {

// /proc/meminfo (fs/proc/meminfo.c): "kB" means KiB.
struct Meminfo {
  Fact<Bytes> total;        // RAM minus what firmware and an APU's carve-out took.
  Fact<Bytes> available;    // What the kernel would give without swapping.
  Fact<Bytes> gpu_active;   // TTM pages in use; newest kernels only.
  Fact<Bytes> gpu_reclaim;  // Pages that TTM keeps in its pool after they were freed; the same.
};
Meminfo parse_meminfo(const Text& text);

// /etc/os-release: the value of a key, without quotes.
Text parse_os_release(const Text& text, std::string_view key);

// "6.14.0-37-generic" → {6, 14, 0}.
using KernelVersion = std::array<unsigned, 3>;
std::optional<KernelVersion> parse_kernel_version(std::string_view release);

// One setting of a module parameter, from the command line or modprobe.d.
struct ModuleOption {
  std::string module;
  std::string key;
  std::string value;
  Source source;
};
// /proc/cmdline: every "module.key=value"; quotes may enclose blanks. The last of two wins, so
// later entries of the list override earlier ones.
std::vector<ModuleOption> parse_cmdline(const Text& text);
// A modprobe.d file: "options MODULE key=value …", with comments and continued lines.
std::vector<ModuleOption> parse_modprobe(const Text& text);

// /proc/modules: the names of the modules that use `module`, or nothing if it is not listed.
Fact<std::vector<std::string>> parse_module_users(const Text& text, std::string_view module);

// /sys/module/{ttm,amdttm}/parameters/pages_limit: pages of 4 KiB (drivers/gpu/drm/ttm/ttm_tt.c).
Fact<Bytes> parse_pages_limit(const Text& text);

// VAR=value lines (/etc/environment) or NUL-separated (/proc/PID/environ): the value of one
// variable.
Text parse_environment(const Text& text, std::string_view variable);

}  // namespace headroom::facts
