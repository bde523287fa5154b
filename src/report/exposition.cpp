// SPDX-License-Identifier: Apache-2.0
#include "report/exposition.h"

#include <fmt/format.h>

#include "base/printable.h"

namespace headroom::report {
namespace {

// Line ends are hidden characters, so that only these two are left to be escaped.
std::string escape_label(std::string_view value) {
  std::string escaped;
  for (const char letter : printable(value)) {
    if (letter == '\\' || letter == '"') escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

}  // namespace

void Exposition::family(std::string_view name, Type type, std::string_view help) {
  name_ = name;
  head_ = fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                      type == Type::counter ? "counter" : "gauge");
}

void Exposition::add(const Labels& labels, std::uint64_t value) {
  sample(labels, fmt::format("{}", value));
}

void Exposition::add(const Labels& labels, double value) {
  sample(labels, fmt::format("{}", value));
}

void Exposition::sample(const Labels& labels, std::string_view value) {
  text_ += head_;
  head_.clear();
  text_ += name_;
  char before = '{';
  for (const auto& [name, text] : labels) {
    text_ += fmt::format("{}{}=\"{}\"", before, name, escape_label(text));
    before = ',';
  }
  if (!labels.empty()) text_ += '}';
  text_ += fmt::format(" {}\n", value);
}

}  // namespace headroom::report
