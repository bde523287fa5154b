// SPDX-License-Identifier: Apache-2.0
// Which settings may be told. Lists of what is kept, never of what is removed: an option nobody
// has heard of loses its value unless that is a plain number or switch.
#pragma once

#include <string>
#include <string_view>

namespace headroom::redact {

// By its parts: API_TOKEN, db.password, wifi-psk, x_apikey; not TOKENIZERS_PARALLELISM, nor
// iommu.passthrough.
bool looks_secret(std::string_view name);

// A number with or without a unit, or words such as "on", "auto", "pt", in a list with commas.
bool is_plain_value(std::string_view value);

// "amdgpu", "ttm", "iommu", …: their values say how a GPU is driven, and are kept as text.
bool is_kept_module(std::string_view module);

// Kernel options that are none of a module's and whose values are kept: "pci", "video", ….
bool is_kept_option(std::string_view key);

// An option without a value: letters only, as in "quiet".
bool is_plain_switch(std::string_view word);

// The shape of a parameter's name; a word that has another may be anything.
bool is_parameter_name(std::string_view key);

// Variables that GPU software reads: HSA_…, PYTORCH_…, LD_LIBRARY_PATH, …; never a secret's.
bool is_kept_variable(std::string_view name);

}  // namespace headroom::redact
