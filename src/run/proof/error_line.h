// SPDX-License-Identifier: Apache-2.0
// The line of a program's errors that says most in one line: where Python ends with an exception,
// its name and message, behind which a framework may add advice; else the last one.
#pragma once

#include <string>
#include <string_view>

namespace headroom::run {

// One thread at a time. A long line is kept by its beginning.
class ErrorLine {
 public:
  void feed(std::string_view piece);
  // Without blanks around it; empty where nothing but blanks was written.
  std::string text() const;

 private:
  void take();

  std::string line_, last_, exception_;
};

}  // namespace headroom::run
