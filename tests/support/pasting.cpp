// SPDX-License-Identifier: Apache-2.0
#include "support/pasting.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace headroom::testing {
namespace {

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80;
}

// Bytes of the first `count` characters.
std::size_t bytes_of(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (begins_character(text[at]) && count-- == 0) break;
  }
  return at;
}

void fold_line(std::string_view line, const Folding& folding, std::string& out) {
  std::size_t indent = 0;
  for (;;) {
    const std::size_t room = folding.width - indent;
    std::size_t size = bytes_of(line, room);
    if (size == line.size()) break;
    std::size_t next = size;
    if (folding.at_blanks) {
      const std::size_t text = line.find_first_not_of(' ');
      const std::size_t blank = line[size] == ' ' ? size : line.rfind(' ', size);
      if (blank != std::string_view::npos && blank > text) {
        size = blank;
        next = line.find_first_not_of(' ', blank);
        if (next == std::string_view::npos) break;
      }
    }
    out.append(indent, ' ').append(line.substr(0, size)).append("\n");
    line.remove_prefix(next);
    indent = folding.indent;
  }
  out.append(indent, ' ').append(line).append("\n");
}

std::string replaced(std::string_view text,
                     const std::vector<std::pair<std::string_view, std::string_view>>& letters) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    bool is_done = false;
    for (const auto& [from, to] : letters) {
      if (!text.substr(at).starts_with(from)) continue;
      out += to;
      at += from.size();
      is_done = true;
      break;
    }
    if (!is_done) out += text[at++];
  }
  return out;
}

// Curly marks as a word processor makes them: opening behind a blank or a bracket.
std::string with_curly_marks(std::string_view line) {
  std::string out;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const bool opens =
        at == 0 || std::string_view(" ([{=<").find(line[at - 1]) != std::string_view::npos;
    if (line[at] == '"') {
      out += opens ? "\u201C" : "\u201D";
    } else if (line[at] == '\'') {
      out += opens ? "\u2018" : "\u2019";
    } else {
      out += line[at];
    }
  }
  return out;
}

Dress with_prefix(const char* name, std::string prefix) {
  return {name, [prefix = std::move(prefix)](std::string_view line, std::size_t) {
            return prefix + std::string(line);
          }};
}

std::vector<Dress> make_dresses() {
  using Number = std::size_t;
  std::vector<Dress> all = {
      with_prefix("quoted", "> "),
      with_prefix("quoted twice", "> > "),
      with_prefix("quoted twice, close", ">> "),
      with_prefix("docker compose", "trainer-1  | "),
      with_prefix("journald", "May 10 07:52:21 box trainer[7411]: "),
      with_prefix("kubectl", "[pod/trainer-0/main] "),
      with_prefix("docker logs -t", "2025-05-10T07:52:21.123456789Z "),
      with_prefix("code of Markdown", "    "),
      with_prefix("journald, short-iso", "2025-05-10T07:52:21+0200 box trainer[7411]: "),
      with_prefix("containerd", "2025-05-10T07:52:21.123456789Z stderr F "),
      {"compose, coloured",
       [](std::string_view line, Number) {
         return fmt::format("\x1b[36mtrainer-1  |\x1b[0m {}", line);
       },
       {},
       {},
       false},
      {"numbered, bar",
       [](std::string_view line, Number n) { return fmt::format("{:4} | {}", n, line); }},
      {"numbered, colon",
       [](std::string_view line, Number n) { return fmt::format("{}: {}", n, line); }},
      {"numbered, L",
       [](std::string_view line, Number n) { return fmt::format("L{} {}", n, line); }},
      {"numbered, cat -n",
       [](std::string_view line, Number n) { return fmt::format("{:6}\t{}", n, line); }},
      {"frame", [](std::string_view line, Number) { return fmt::format("\u2502 {}", line); }},
      {"^M",
       [](std::string_view line, Number) { return fmt::format("{}^M", line); },
       {},
       {},
       false},
      {"carriage returns",
       [](std::string_view line, Number) { return fmt::format("{}\r", line); },
       {},
       {},
       false},
      {"colours in letters",
       [](std::string_view line, Number) { return fmt::format("^[[31m{}^[[0m", line); },
       {},
       {},
       false},
      {"colours",
       [](std::string_view line, Number) { return fmt::format("\x1b[31m{}\x1b[0m", line); },
       {},
       {},
       false},
      {"entities",
       [](std::string_view line, Number) {
         return replaced(
             line,
             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
       },
       {},
       {},
       false},
      {"curly marks",
       [](std::string_view line, Number) { return with_curly_marks(line); },
       {},
       {},
       false},
      {"dashes of a word processor",
       [](std::string_view line, Number) {
         return replaced(line, {{" --", " \u2014"}, {"...", "\u2026"}});
       },
       {},
       {},
       false},
      {"escapes of Markdown",
       [](std::string_view line, Number) {
         return replaced(line, {{"_", "\\_"}, {"*", "\\*"}});
       },
       {},
       {},
       false},
      {"breaks of a page",
       [](std::string_view line, Number) { return fmt::format("{}<br>", line); },
       {},
       {},
       false},
      {"padded",
       [](std::string_view line, Number) { return fmt::format("{:<100}", line); },
       {},
       {},
       false},
      {"panes of tmux",
       [](std::string_view line, Number n) {
         const std::size_t columns =
             static_cast<std::size_t>(std::count_if(line.begin(), line.end(), begins_character));
         return fmt::format("{}{} \u2502 load average: 0.{:02}", line,
                            std::string(160 - std::min<std::size_t>(columns, 160), ' '), n % 100);
       },
       {},
       "[main] 0:train* 1:top-                    \"box\" 07:52 10-May-25\n",
       false},
      {"blanks that do not break",
       [](std::string_view line, Number) {
         return replaced(line, {{"  ", " \u00A0"}});
       },
       {},
       {},
       false},
      {"fenced", [](std::string_view line, Number) { return std::string(line); },
       "I run my training and get this, what is wrong with it? It happens every time that I start "
       "it.\n\n```text\n",
       "```\n\nThank you for having a look.\n", false},
      {"page", [](std::string_view line, Number) { return std::string(line); },
       "<details><summary>Log</summary>\n<pre>\n", "</pre>\n</details>\n", false},
  };
  return all;
}

}  // namespace

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string fold(std::string_view log, const Folding& folding) {
  std::string out;
  for (const std::string& line : split_lines(log)) fold_line(line, folding, out);
  return out;
}

const std::vector<Dress>& dresses() {
  static const std::vector<Dress> all = make_dresses();
  return all;
}

std::string put_on(std::string_view log, const Dress& dress) {
  std::string out = dress.before;
  std::size_t number = 0;
  for (const std::string& line : split_lines(log)) out += dress.line(line, ++number) + "\n";
  return out + dress.behind;
}

}  // namespace headroom::testing
