// SPDX-License-Identifier: Apache-2.0
#include "screen/screen.h"

#define NCURSES_NOMACROS 1
#include <curses.h>
#include <langinfo.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>

#include "base/text.h"
#include "screen/styled_text.h"

namespace headroom::screen {
namespace {

constexpr int control_c = 3;
constexpr std::size_t widest = 1000;

short pair_of(Colour colour) {
  return static_cast<short>(colour);
}

void prepare_colours() {
  if (!::has_colors()) return;
  ::start_color();
  ::use_default_colors();
  ::init_pair(pair_of(Colour::red), COLOR_RED, -1);
  ::init_pair(pair_of(Colour::yellow), COLOR_YELLOW, -1);
  ::init_pair(pair_of(Colour::green), COLOR_GREEN, -1);
}

attr_t attributes_of(const Span& span) {
  attr_t attributes = A_NORMAL;
  if (span.bold) attributes |= A_BOLD;
  if (span.dim) attributes |= A_DIM;
  return attributes;
}

}  // namespace

Result<std::unique_ptr<Screen>> Screen::open() {
  const auto unsupported = [](const char* message) {
    return Error{Errc::unsupported, message, "headroom top --once   (prints it and ends)"};
  };
  if (::isatty(STDOUT_FILENO) == 0 || ::isatty(STDIN_FILENO) == 0) {
    return unsupported("expected a terminal to draw on, found none");
  }
  // By the one thread that draws. Where nothing says UTF-8, as in most containers, it is all the
  // same what terminals take.
  std::setlocale(LC_CTYPE, "");                             // NOLINT(concurrency-mt-unsafe)
  if (std::string_view(::nl_langinfo(CODESET)) != "UTF-8")  // NOLINT(concurrency-mt-unsafe)
    std::setlocale(LC_CTYPE, "C.UTF-8");                    // NOLINT(concurrency-mt-unsafe)
  SCREEN* terminal = ::newterm(nullptr, stdout, stdin);
  if (terminal == nullptr) {
    return unsupported("expected a terminal that ncurses knows (TERM), found another");
  }
  ::set_term(terminal);
  if (::tigetstr("cup") == nullptr) {  // TERM=dumb
    ::delscreen(terminal);
    return unsupported("expected a terminal that can be drawn on, found one that cannot");
  }
  ::raw();  // ^C comes as a key, so that the terminal is given back as it was.
  ::noecho();
  ::keypad(stdscr, TRUE);
  ::curs_set(0);
  prepare_colours();
  ::wrefresh(stdscr);
  return std::unique_ptr<Screen>(new Screen(terminal));
}

Screen::~Screen() {
  ::endwin();
  ::delscreen(static_cast<SCREEN*>(terminal_));
}

std::size_t Screen::width() const {
  return static_cast<std::size_t>(::getmaxx(stdscr));
}

std::size_t Screen::rows() const {
  return static_cast<std::size_t>(::getmaxy(stdscr));
}

void Screen::show(std::string_view page, std::size_t top) {
  const auto lines = split_lines(page);
  const auto height = std::max(lines.size(), top + rows());
  // A pad is as large as what is drawn, so that nothing wraps; the screen shows a part of it.
  WINDOW* pad = ::newpad(static_cast<int>(height), static_cast<int>(std::max(width(), widest)));
  if (pad == nullptr) return;
  int row = 0;
  for (const std::string_view line : lines) {
    ::wmove(pad, row, 0);
    for (const Span& span : split_spans(line.substr(0, widest))) {
      ::wattr_set(pad, attributes_of(span), pair_of(span.colour), nullptr);
      ::waddnstr(pad, span.text.c_str(), static_cast<int>(span.text.size()));
    }
    ++row;
  }
  ::prefresh(pad, static_cast<int>(top), 0, 0, 0, static_cast<int>(rows()) - 1,
             static_cast<int>(width()) - 1);
  ::delwin(pad);
}

Key Screen::wait(std::chrono::milliseconds longest) {
  ::wtimeout(stdscr, static_cast<int>(longest.count()));
  switch (::wgetch(stdscr)) {
    case ERR:
      return Key::none;
    case 'q':
    case 'Q':
    case control_c:
      return Key::quit;
    case KEY_UP:
    case 'k':
      return Key::up;
    case KEY_DOWN:
    case 'j':
      return Key::down;
    case KEY_PPAGE:
      return Key::page_up;
    case KEY_NPAGE:
    case ' ':
      return Key::page_down;
    case KEY_HOME:
      return Key::home;
    case KEY_END:
      return Key::end;
    case KEY_RESIZE:
      return Key::resized;
    default:
      return Key::other;
  }
}

}  // namespace headroom::screen
