// SPDX-License-Identifier: Apache-2.0
// Reads the values of a config.json, remembers the first thing that was wrong, and collects what
// had to be assumed. A family's parser reads everything it knows; whoever called it asks once at
// the end. Until then a wrong value reads as 1, so that nothing divides by 0.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/document_fwd.h"
#include "base/document_reader.h"
#include "base/result.h"
#include "estimate/models/architecture.h"

namespace headroom::estimate {

// Far above every model, and so low that no count of parameters overflows 64 bits: a layer has at
// most 2^20 × 2^14 × 2^14 elements in a matrix.
inline constexpr Range widths{1, 1U << 20U};
inline constexpr Range layer_counts{1, 1U << 10U};
inline constexpr Range head_counts{1, 1U << 14U};  // Of heads, and of the size of one.
inline constexpr Range vocabularies{1, 1U << 24U};
inline constexpr Range position_counts{1, 1U << 24U};
inline constexpr Range expert_counts{1, 1U << 10U};
inline constexpr Range pixel_counts{1, 1U << 14U};
inline constexpr Range window_sizes{0, 1U << 30U};

struct ConfigFindings {
  std::optional<Error> problem;
  std::vector<std::string> notes;
};

// The names that a key has had, at most three; the first is how an error calls it.
class Names {
 public:
  Names() = default;
  Names(std::initializer_list<const char*> names) : size_(names.size()) {
    std::copy(names.begin(), names.end(), names_.begin());
  }
  const char* const* begin() const { return names_.data(); }
  const char* const* end() const { return names_.data() + size_; }
  std::size_t size() const { return size_; }

 private:
  std::array<const char*, 3> names_{};
  std::size_t size_ = 0;
};

class ConfigReader {
 public:
  // Requires: `object` is an object; it and `findings` outlive the reader.
  ConfigReader(const Json& object, ConfigFindings& findings)
      : object_(&object), findings_(&findings) {}

  // The table under `key`, empty if it is absent. What stands in such a table leaves out what its
  // class has by default (transformers writes only differences there).
  ConfigReader inner(const char* key);
  bool is_inner() const { return !prefix_.empty(); }

  // There and not null.
  bool has(const char* key) const { return find({key}) != nullptr; }
  bool is_null(const char* key) const;
  const Json* find(const Names& names) const;

  // A size that must be there, in an inner table at least by the class's default.
  std::uint64_t size(const Names& names, Range range,
                     std::optional<std::uint64_t> class_default = std::nullopt);
  std::uint64_t size_or(const Names& names, Range range, std::uint64_t otherwise);
  bool flag_or(const Names& names, bool otherwise);
  double positive_or(const Names& names, double otherwise);
  double probability_or(const Names& names, double otherwise);  // From 0 to 1.
  std::string text_or(const Names& names, const std::string& otherwise);
  Activation activation_or(const Names& names, Activation otherwise);
  // Every element a text; empty if absent.
  std::vector<std::string> texts(const char* key);
  // Every element a whole number.
  std::vector<std::uint64_t> sizes_or(const char* key, std::vector<std::uint64_t> otherwise);

  // The problem, unless there is one already: "text_config.head_dim: expected WANTED, found …".
  void fail(const char* key, const std::string& wanted, Errc code = Errc::invalid);
  void fail_with(const std::string& key, const std::string& complaint, Errc code = Errc::invalid);
  void note(std::string text) { findings_->notes.push_back(std::move(text)); }
  bool failed() const { return findings_->problem.has_value(); }

 private:
  const char* written(const Names& names) const;  // The name that is there, else the first.

  const Json* object_;
  ConfigFindings* findings_;
  std::string prefix_;
};

// What an error shows of a value: never more than a line.
std::string shown(const Json* found);
std::string shown(const std::string& text);

inline constexpr const char* take_the_original =
    "take config.json from the model's own folder, or correct it";

}  // namespace headroom::estimate
