// SPDX-License-Identifier: Apache-2.0
// Which of a machine's GPUs a person means by a word.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "facts/facts.h"

namespace headroom::facts {

// The GPUs that `word` means: by PCI address ("03:00.0" is "0000:03:00.0"), by HIP index, as check
// prints it, or by the name of a single one ("RX 7900 XT"). All of them where the word is empty.
// Pointers into `facts`. Fails with invalid, naming those that are there, where none is meant or
// several have that name; the error's next command is left to the caller.
Result<std::vector<const Gpu*>> find_gpus(const Facts& facts, std::string_view word);

// The PCI address of the GPU that has this HIP index; empty where it is not known.
std::string pci_of_index(const Facts& facts, std::optional<std::uint64_t> hip_index);

}  // namespace headroom::facts
