// SPDX-License-Identifier: Apache-2.0
#include "run/proof/error_line.h"

#include "base/text.h"

namespace headroom::run {
namespace {

constexpr std::size_t longest = 400;

// "RuntimeError: …", "torch.OutOfMemoryError: …".
bool is_exception(std::string_view line) {
  const std::string_view word = line.substr(0, line.find(':'));
  const bool is_word = word.size() < line.size() && word.find(' ') == std::string_view::npos;
  return is_word && (word.ends_with("Error") || word.ends_with("Exception"));
}

// Docker's last line, behind what is wrong: "Run 'docker run --help' for more information".
bool is_pointer(std::string_view line) {
  return line.find("--help") != std::string_view::npos &&
         (line.starts_with("Run '") || line.starts_with("See '"));
}

}  // namespace

void ErrorLine::feed(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    const std::string_view part = piece.substr(0, end);
    line_ += part.substr(0, longest - line_.size());
    if (end == std::string_view::npos) return;
    take();
    piece.remove_prefix(end + 1);
  }
}

void ErrorLine::take() {
  if (is_exception(line_)) exception_ = line_;
  if (!trim(line_).empty() && !is_pointer(line_)) last_ = line_;
  line_.clear();
}

std::string ErrorLine::text() const {
  if (!exception_.empty()) return std::string(trim(exception_));
  return std::string(trim(trim(line_).empty() ? last_ : line_));
}

}  // namespace headroom::run
