// SPDX-License-Identifier: Apache-2.0
#include "support/simulated_boot.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "machine/user_files.h"
#include "support/boot_entry.h"
#include "support/simulated_kernel.h"

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;

Result<BootEntry> choose(const fs::path& root, const Firmware& firmware) {
  return firmware.loader == "grub" ? choose_with_grub(root, firmware)
                                   : choose_with_systemd_boot(root, firmware);
}

// systemd-bless-boot, once everything that has to run is running: the name loses its counters.
void bless(const BootEntry& entry) {
  if (entry.counted.empty()) return;
  const std::string stem = entry.counted.stem().string();
  fs::rename(entry.counted,
             entry.counted.parent_path() / (stem.substr(0, stem.rfind('+')) + ".conf"));
}

}  // namespace

Result<Firmware> read_firmware(const fs::path& root) {
  HEADROOM_TRY(const std::string text, machine::read_file((root / ".fake/firmware").string()));
  const auto words = split_words(split_lines(text).front());
  const auto word = [&](std::size_t i) {
    return i < words.size() ? std::string(words[i]) : std::string();
  };
  if (word(0) == "grub") return Firmware{"grub", word(1), word(2), "", word(3) != "no-write"};
  if (word(0) == "systemd-boot") return Firmware{"systemd-boot", "", word(1), word(2), true};
  return Error{Errc::invalid, fmt::format("{}: no such boot loader is played", word(0)), ""};
}

Result<BootOutcome> simulate_boot(const fs::path& root, bool first_fails) {
  HEADROOM_TRY(const Firmware firmware, read_firmware(root));
  BootOutcome outcome;
  for (int attempt = 0; attempt < 10; ++attempt) {
    HEADROOM_TRY(const BootEntry entry, choose(root, firmware));
    if (first_fails && (outcome.failed.empty() || outcome.failed.front() == entry.id)) {
      outcome.failed.push_back(entry.id);
      continue;
    }
    HEADROOM_TRY(outcome.kernel, start_kernel(root, entry));
    bless(entry);
    outcome.entry = entry.id;
    outcome.command_line = entry.command_line;
    return outcome;
  }
  return Error{
      Errc::unsupported,
      fmt::format("{} is started again and again, and never comes up", outcome.failed.front()), ""};
}

}  // namespace headroom::testing
