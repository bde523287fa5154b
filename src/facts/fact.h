// SPDX-License-Identifier: Apache-2.0
// Fact<T>: a value, or why there is none; and in both cases where it was looked for. Not knowing is
// data: it is printed, tested and reasoned about, and never becomes 0 or "".
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace headroom::facts {

enum class Why {
  not_present,     // Looked: it is not there.
  no_permission,   // It may be there; this user, or this container, may not read it.
  unreadable,      // Reading failed otherwise.
  not_understood,  // Read, and makes no sense; `text` is what was seen.
  asleep,          // Reading it would wake the GPU.
  not_limited,     // It says that there is no limit.
  not_asked,       // Known to exist, and not asked for by this version.
  not_applicable,  // Has no meaning on this machine.
};

struct Missing {
  Why why = Why::not_present;
  std::string text;  // What was seen, or why it is so; may be empty.
};

// "no permission", "not understood: \"abc\"".
std::string to_string(const Missing& missing);

// Where a fact comes from: a path of the machine ("/sys/…"), or "computed" and the like.
struct Source {
  std::string path;
  int line = 0;      // From 1; 0 where lines have no meaning.
  std::string text;  // The line as read, or how it was computed.
};

template <class T>
class Fact {
 public:
  Fact() = default;
  Fact(T value, Source source) : value_(std::move(value)), source_(std::move(source)) {}
  Fact(Missing missing, Source source) : value_(std::move(missing)), source_(std::move(source)) {}

  bool known() const { return std::holds_alternative<T>(value_); }
  explicit operator bool() const { return known(); }
  // Requires: known().
  const T& operator*() const { return std::get<T>(value_); }
  const T* operator->() const { return &std::get<T>(value_); }
  // Requires: !known().
  const Missing& missing() const { return std::get<Missing>(value_); }
  const Source& source() const { return source_; }
  std::optional<T> optional() const { return known() ? std::optional<T>(**this) : std::nullopt; }

  // The same absence for a fact that would have been derived from this one. Requires: !known().
  template <class U>
  Fact<U> absent() const {
    return Fact<U>(missing(), source_);
  }

 private:
  std::variant<Missing, T> value_ = Missing{};
  Source source_;
};

}  // namespace headroom::facts
