// SPDX-License-Identifier: Apache-2.0
// Knobs: the variables, allocator options and module parameters that people set for a GPU's sake,
// from data/knobs.toml. What one does, costs and excludes is data there; this turns it into values
// and answers what follows from a row alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace headroom::knowledge {

enum class KnobValue { toggle, bit, number, fraction, words, mask, gfx, options, text };
enum class KnobClass { normal, debugging, deprecated, dangerous, no_effect };

struct Knob {
  std::string name;       // "HSA_XNACK", "PYTORCH_ALLOC_CONF:backend", "amdgpu.gttsize", "iommu".
  std::string alias;      // The knob that this is another spelling of; empty: none.
  std::string component;  // Who reads it: "torch", "hip", "kernel", …
  KnobValue value = KnobValue::text;
  std::string unit;  // Of a number; empty: a count.
  std::optional<std::pair<double, double>> range;
  bool power_of_two = false;
  std::vector<std::string> words;
  std::optional<std::string> default_value;
  std::vector<std::string> harmless;
  std::string scale;   // "ram", "vram", or empty: its amount is measured against nothing.
  bool limit = false;  // It is the amount that GPUs get.
  std::string does, cost, instead;
  KnobClass kind = KnobClass::normal;
  std::map<std::string, std::string> since, until, deprecated_since;  // Component → version.
  std::string build;  // The kind of PyTorch that alone reads it: "rocm"; empty: every kind.
  std::vector<std::string> matters;
  std::vector<std::string> needs;
  std::string needs_note;
  std::map<std::string, std::string> conflicts;  // Knob → why.
  char certainty = 'D';
  std::string source;

  bool is_option() const { return name.find(':') != std::string::npos; }
  bool is_parameter() const { return component == "kernel"; }
};

class KnobTable {
 public:
  // A known name or spelling; "HSA_OVERRIDE_GFX_VERSION_2" finds the row with "*". nullptr: none.
  const Knob* find(std::string_view name) const;
  // The row that says what holds for `knob`: the one it is a spelling of, or itself.
  const Knob& meaning_of(const Knob& knob) const;
  // Whether a module has this parameter, described or not.
  bool exists(std::string_view module, std::string_view parameter) const;
  bool has_module(std::string_view module) const;
  // The knob whose name was probably meant, by so little that it is a typing error.
  std::optional<std::string> meant(std::string_view name) const;

  const std::vector<Knob>& rows() const { return rows_; }  // In the order of the table.

 private:
  friend Result<KnobTable> parse_knobs(std::string_view text);

  std::vector<Knob> rows_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::map<std::string, std::vector<std::string>, std::less<>> parameters_;
};

// The embedded table. Fails only if data/knobs.toml is wrong, which a test excludes.
Result<KnobTable> load_knobs();
Result<KnobTable> parse_knobs(std::string_view text);  // Fails with the table's line.

// "1", "true", "yes", "on", "enable", "y": true; their opposites, and nothing else, false.
std::optional<bool> parse_toggle(std::string_view value);

// Whether the value leaves things as they are: the default, or one that costs nothing.
bool is_harmless(const Knob& knob, std::string_view value);
// Whether the value is the default.
bool is_default(const Knob& knob, std::string_view value);

// Bytes in one of the unit "B", "KiB", "page", "MiB" or "GiB"; nothing for other units.
std::optional<Bytes> unit_size(std::string_view unit);

// Compares "2.10.0a0+rocm7.1" and "2.9" by their numbers: -1, 0 or 1; nothing if either has none.
std::optional<int> compare_versions(std::string_view a, std::string_view b);

std::string_view to_string(KnobClass kind);

}  // namespace headroom::knowledge
