// SPDX-License-Identifier: Apache-2.0
// The terminal as a screen that is drawn anew, over ncurses, which knows how each terminal is told
// to and gives it back as it was, also where a signal ends the program.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.h"

namespace headroom::screen {

enum class Key : std::uint8_t {
  none,
  quit,
  up,
  down,
  page_up,
  page_down,
  home,
  end,
  resized,
  other
};

// One at a time in a process, used by one thread.
class Screen {
 public:
  // Fails with unsupported where standard output and input are no terminal, or one that ncurses
  // does not know.
  static Result<std::unique_ptr<Screen>> open();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  std::size_t width() const;
  std::size_t rows() const;
  // Lines with the colours of report::Style, from line `top` on; what does not fit is cut off.
  void show(std::string_view page, std::size_t top);
  // The next key, or none when the time is over. ^C is `quit`.
  Key wait(std::chrono::milliseconds longest);

 private:
  explicit Screen(void* terminal) : terminal_(terminal) {}
  void* terminal_;  // ncurses' SCREEN.
};

}  // namespace headroom::screen
