// SPDX-License-Identifier: Apache-2.0
// Metrics in the text format that Prometheus scrapes and node_exporter's textfile collector reads
// (prometheus.io/docs/instrumenting/exposition_formats, version 0.0.4).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom::report {

class Exposition {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;
  enum class Type : std::uint8_t { gauge, counter };

  // What follows belongs to this family. A name is used once; its unit is at its end, as in the
  // conventions: _bytes, _seconds, _total for a counter. A family that gets no sample is left out.
  void family(std::string_view name, Type type, std::string_view help);
  // Values of labels may be anything: what is hidden or no UTF-8 becomes '?'.
  void add(const Labels& labels, std::uint64_t value);
  void add(const Labels& labels, double value);

  const std::string& text() const { return text_; }

 private:
  void sample(const Labels& labels, std::string_view value);

  std::string text_;
  std::string name_;
  std::string head_;  // Of a family that has no sample yet.
};

}  // namespace headroom::report
