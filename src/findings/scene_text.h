// SPDX-License-Identifier: Apache-2.0
// Finds single facts in what people write: "24 GB", "6.1, then 6.4", "torch 2.8.0+rocm7.0, wheels
// for ROCm 6". Pure. Text that makes no sense gives nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace headroom::findings {

// The first amount of memory in a text: "96 GB BIOS carve-out" is 96 GiB, because memory is sold in
// binary units under decimal names.
std::optional<Bytes> amount_in(std::string_view text);
// The first version: "6.2 on the host" → "6.2", "7.2 (in the wheel)" → "7.2".
std::optional<std::string> version_in(std::string_view text);
// Every "gfx…" of a text, each once. "gfx103x" and "gfx110X" stay as they are.
std::vector<std::string> targets_in(std::string_view text);
// PyTorch's version: "torch 2.8.0+rocm7.0, pyg" → "2.8.0"; the ROCm behind the plus → "7.0".
struct TorchVersion {
  std::string torch, rocm, cuda;  // Empty if not mentioned.
  bool cpu = false;
};
TorchVersion torch_in(std::string_view text);
// os-release's ID and ID_LIKE from the name of a distribution: "Linux Mint 21.3" → "linuxmint
// ubuntu debian". Empty if headroom does not know it.
std::string distribution_id_of(std::string_view name);
// Whether a person says of settings that they were only tried: "X=1 tried", "with and without X=1".
bool says_tried(std::string_view stated);
// Whether stated settings are said to be a shell's own, which programs do not get.
bool says_unexported(std::string_view stated);
// False for "none", "bare metal" and the like.
bool is_container(std::string_view stated);

}  // namespace headroom::findings
