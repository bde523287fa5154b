// SPDX-License-Identifier: Apache-2.0
// Known-bad combinations of GPU, kernel, firmware and ROCm (data/advisories.toml), and the kernel
// changes that some of them wait for. Only what is known is here; whether a machine is such a
// combination is decided in findings/advisories.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "knowledge/origin.h"

namespace headroom::knowledge {

// Ubuntu counts its kernels' packages itself: of series 6.17.0 and flavour generic, the package
// 19.19~24.04.2 is the first with the change.
struct UbuntuPackage {
  std::string flavour, series, package;
};

struct KernelFix {
  std::string id, what;
  std::string mainline;  // The first kernel.org release that has it.
  std::vector<UbuntuPackage> ubuntu;
  std::map<std::string, std::string> may_carry;  // Distribution → version from which it may.
  Origin origin;
};

// The first kernel.org release whose amdgpu knows a target, rather too low than too high.
struct FirstKernel {
  std::string gfx, since;
  Origin origin;
};

enum class Effect { note, unstable, bad };

// Half-open: since <= version < before, both as "6.10" or "7.2.1".
struct VersionRange {
  std::string since, before;
};

struct FirmwareCondition {
  std::string name;  // "mes", of fw_version/mes_fw_version.
  std::uint64_t is = 0;
};

struct Advisory {
  std::string id;
  std::string about;             // "kernel", "firmware", "rocm" or "memory".
  std::vector<std::string> gfx;  // Empty: any target.
  bool integrated = false;       // Only integrated GPUs.
  std::optional<VersionRange> kernel;
  std::string without_fix, with_fix;  // Ids of KernelFixes; empty: no such condition.
  std::vector<VersionRange> rocm;     // Empty: no such condition.
  std::optional<FirmwareCondition> firmware;
  std::string unless_module, unless_key, unless_value;  // The parameter that avoids it, or empty.
  Effect effect = Effect::note;
  std::string cause;  // An id of docs/causes.md; empty unless the effect is bad.
  std::string happens;
  std::string price;  // What the cure asks for besides, in a few words; empty: nothing.
  std::vector<std::string> to_do;
  Origin origin;
};

struct Advisories {
  std::vector<KernelFix> fixes;
  std::vector<FirstKernel> first_kernels;
  std::vector<Advisory> rows;

  // nullptr for an id that no fix has.
  const KernelFix* fix(std::string_view id) const;
};

// Fails with the table's line.
Result<Advisories> parse_advisories(std::string_view text);

std::string_view to_string(Effect effect);

}  // namespace headroom::knowledge
