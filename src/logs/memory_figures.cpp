// SPDX-License-Identifier: Apache-2.0
#include "logs/memory_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

#include "base/text.h"
#include "logs/work_step.h"

namespace headroom::logs {
namespace {

constexpr std::size_t longest_looked_at = 2000;
constexpr std::size_t longest_label = 64;
constexpr std::size_t most_figures = 8;
constexpr double most_bytes = 1e15;  // More than any machine has.

struct Unit {
  std::string_view name;  // Lower case.
  double factor;
};
constexpr double kib = 1024.0;
constexpr std::array<Unit, 14> units = {{{"b", 1},
                                         {"byte", 1},
                                         {"bytes", 1},
                                         {"k", kib},
                                         {"m", kib* kib},
                                         {"g", kib* kib* kib},
                                         {"kib", kib},
                                         {"mib", kib* kib},
                                         {"gib", kib* kib* kib},
                                         {"tib", kib* kib* kib* kib},
                                         {"kb", 1e3},
                                         {"mb", 1e6},
                                         {"gb", 1e9},
                                         {"tb", 1e12}}};

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}
bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

std::optional<double> factor_of(std::string_view lower) {
  for (const Unit& unit : units) {
    if (unit.name == lower) return unit.factor;
  }
  return std::nullopt;
}

// A number as written and the unit behind it.
struct Number {
  std::size_t begin = 0, end = 0;  // With its unit.
  double value = 0;
  std::size_t digits = 0;
  bool is_whole = true;
  std::optional<double> factor;
};

// The line in both cases: single letters are units in capitals only ("7.61G", and not "5 m").
struct Text {
  std::string_view line;
  std::string lower;
};

void read_unit(const Text& text, Number& number) {
  std::size_t at = number.end;
  if (at < text.line.size() && text.line[at] == ' ') ++at;
  std::size_t end = at;
  while (end < text.line.size() && is_letter(text.line[end])) ++end;
  if (end == at || end - at > 5) return;
  if (end < text.line.size() && (is_digit(text.line[end]) || text.line[end] == '_')) return;
  // "GB/s" is a rate.
  if (text.lower.compare(end, 2, "/s") == 0) return;
  const bool is_capital = text.line[at] >= 'A' && text.line[at] <= 'Z';
  if (end - at == 1 && (at != number.end || !is_capital)) return;
  number.factor = factor_of(std::string_view(text.lower).substr(at, end - at));
  if (number.factor) number.end = end;
}

// The number that begins here, thousands parted by commas included.
std::optional<Number> read_number(const Text& text, std::size_t begin) {
  Number number;
  number.begin = begin;
  std::string digits;
  std::size_t at = begin;
  const std::string_view line = text.line;
  const auto has_digit = [line](std::size_t place) {
    return place < line.size() && is_digit(line[place]);
  };
  for (; at < line.size(); ++at) {
    const bool is_group = line[at] == ',' && has_digit(at + 1) && has_digit(at + 2) &&
                          has_digit(at + 3) && !has_digit(at + 4) && number.is_whole;
    if (is_group) continue;
    const bool is_point = line[at] == '.' && number.is_whole && has_digit(at + 1);
    if (!is_digit(line[at]) && !is_point) break;
    if (is_point) number.is_whole = false;
    digits += line[at];
  }
  number.end = at;
  number.digits = digits.size();
  // An exponent, or a version such as 2.4.1.
  const bool is_other =
      at < line.size() && (line[at] == '.' || line[at] == 'e' || line[at] == 'E') &&
      (has_digit(at + 1) || (at + 1 < line.size() && (line[at + 1] == '+' || line[at + 1] == '-')));
  if (is_other || digits.size() > 20) return std::nullopt;
  const auto value = parse_double(digits);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  number.value = *value;
  read_unit(text, number);
  return number;
}

// The words of a label, and the unit that it may name: "max_mem_active(gib)".
struct Label {
  std::vector<std::string_view> words;
  std::optional<double> factor;
  bool names_deepspeed = false;  // "MA" and "CA" in capitals.

  bool has(std::initializer_list<std::string_view> some) const {
    return std::any_of(words.begin(), words.end(), [some](std::string_view word) {
      return std::find(some.begin(), some.end(), word) != some.end();
    });
  }
};

Label read_label(const Text& text, std::size_t begin, std::size_t end) {
  if (end - begin > longest_label) begin = end - longest_label;
  Label label;
  std::size_t at = begin;
  while (at < end) {
    std::size_t word_end = at;
    while (word_end < end && is_letter(text.line[word_end])) ++word_end;
    if (word_end == at) {
      ++at;
      continue;
    }
    const std::string_view word = std::string_view(text.lower).substr(at, word_end - at);
    const std::string_view written = text.line.substr(at, word_end - at);
    if (written == "MA" || written == "CA") label.names_deepspeed = true;
    const auto factor = factor_of(word);
    const bool is_in_brackets = at > begin && text.line[at - 1] == '(';
    if (factor && (word.size() > 1 || is_in_brackets)) {
      label.factor = factor;
    } else {
      label.words.push_back(word);
    }
    at = word_end;
  }
  return label;
}

// Nothing if the label is about something else, or about memory that is not in use.
std::optional<MemoryKind> kind_of(const Label& label) {
  if (label.has({"free",      "available",   "avail",    "capacity",    "limit",   "request",
                 "requested", "tried",       "buffer",   "disk",        "file",    "files",
                 "size",      "weights",     "params",   "unallocated", "swap",    "left",
                 "remaining", "freed",       "released", "cache",       "needed",  "required",
                 "cost",      "saved",       "address",  "pid",         "version", "clock",
                 "util",      "utilization", "activity", "budget"})) {
    return std::nullopt;
  }
  const bool live = label.has({"allocated", "alloc", "active"});
  const bool reserved = label.has({"reserved", "cached"});
  const bool in_use = label.has({"used", "use", "usage", "inuse"});
  if (label.names_deepspeed) {
    return label.has({"ca"}) ? MemoryKind::reserved : MemoryKind::allocated;
  }
  if (label.has({"total"}) && !live && !reserved && !in_use) return std::nullopt;
  if (label.has({"rss", "uss", "pss", "vmrss"})) return MemoryKind::host;
  const bool memory = label.has({"mem", "memory", "vram", "gpumem"});
  if (label.has({"ram", "host", "cpu"})) {
    return memory || in_use || live ? std::optional(MemoryKind::host) : std::nullopt;
  }
  if (reserved) return MemoryKind::reserved;
  if (live) return MemoryKind::allocated;
  return memory ? std::optional(MemoryKind::device) : std::nullopt;
}

std::string join_words(const Label& label) {
  constexpr std::size_t most = 4;
  std::string joined;
  const std::size_t begin = label.words.size() > most ? label.words.size() - most : 0;
  for (std::size_t i = begin; i < label.words.size(); ++i) {
    if (!joined.empty()) joined += ' ';
    joined += label.words[i];
  }
  return joined;
}

// "GPU[0]", "cuda:1", "rank 3": the last that stands before the figure.
std::string device_before(std::string_view lower) {
  constexpr std::array<std::string_view, 6> words = {"gpu",  "cuda",   "hip",
                                                     "rank", "device", "rocm"};
  std::string device;
  std::size_t best = 0;
  for (const std::string_view word : words) {
    std::size_t at = lower.rfind(word);
    if (at == std::string_view::npos || (at > 0 && is_letter(lower[at - 1]))) continue;
    at += word.size();
    if (at < lower.size() && std::string_view(" [:#_").find(lower[at]) != std::string_view::npos)
      ++at;
    std::size_t end = at;
    while (end < lower.size() && is_digit(lower[end])) ++end;
    const bool is_index =
        end > at && end - at <= 2 &&
        (end == lower.size() || (lower[end] != '.' && lower[end] != '/' && lower[end] != '%'));
    if (!is_index || at < best) continue;
    best = at;
    device = std::string(word) + " " + std::string(lower.substr(at, end - at));
  }
  return device;
}

// By which a number becomes bytes; nothing if it is no amount.
std::optional<double> factor_of(const Number& number, const Label& label) {
  if (number.factor) return number.factor;
  if (label.factor) return label.factor;
  constexpr std::size_t digits_of_bytes = 7;
  if (!number.is_whole) return std::nullopt;
  if (number.digits >= digits_of_bytes) return 1;
  const bool is_mib = number.digits >= 3 && !label.words.empty() &&
                      (label.words.back() == "mem" || label.words.back() == "memory");
  return is_mib ? std::optional(kib * kib) : std::nullopt;
}

std::optional<Bytes> to_amount(double value, double factor) {
  const double bytes = value * factor;
  if (!(bytes > 0) || bytes > most_bytes) return std::nullopt;
  return Bytes{static_cast<std::uint64_t>(bytes)};
}

class Finder {
 public:
  explicit Finder(std::string_view line) : text_{line, to_lower(line)} {}

  std::vector<MemoryFigure> find() {
    find_gpu_column();
    std::size_t at = label_begin_;
    while (at < text_.line.size() && figures_.size() < most_figures) {
      const char letter = text_.line[at];
      if (letter == ';') label_begin_ = at + 1;
      const bool begins = is_digit(letter) && (at == 0 || !is_part_of_word(text_.line[at - 1]));
      at = begins ? look_at_number(at) : at + 1;
    }
    return std::move(figures_);
  }

  const std::string& lower() const { return text_.lower; }

 private:
  static bool is_part_of_word(char letter) {
    return is_letter(letter) || is_digit(letter) || letter == '_' || letter == '.';
  }

  // Ultralytics' rows have their label in a heading far above: "1/100  7.61G  1.23 …", where the
  // column GPU_mem is what the allocator has reserved (ultralytics/ultralytics:
  // ultralytics/engine/trainer.py, _get_memory).
  void find_gpu_column() {
    std::size_t at = text_.line.find_first_not_of(" \t");
    if (at == std::string_view::npos || !is_digit(text_.line[at])) return;
    const std::size_t end = text_.line.find_first_not_of("0123456789/", at);
    if (end == std::string_view::npos ||
        text_.line.substr(at, end - at).find('/') == std::string_view::npos)
      return;
    at = text_.line.find_first_not_of(' ', end);
    if (at == std::string_view::npos || at == end || !is_digit(text_.line[at])) return;
    const auto number = read_number(text_, at);
    if (!number || text_.line[number->end - 1] != 'G' || !number->factor) return;
    if (const auto amount = to_amount(number->value, *number->factor)) {
      figures_.push_back({MemoryKind::reserved, false, "gpu mem", "", *amount, {}});
    }
    label_begin_ = number->end;
  }

  // Returns where to go on.
  std::size_t look_at_number(std::size_t begin) {
    const auto number = read_number(text_, begin);
    if (!number) {
      std::size_t end = begin;
      while (end < text_.line.size() && (is_part_of_word(text_.line[end]))) ++end;
      label_begin_ = end;
      return end;
    }
    const bool is_negative = begin > 0 && text_.line[begin - 1] == '-';
    const Label label = read_label(text_, label_begin_, begin);
    const auto kind = label.words.empty() || is_negative ? std::nullopt : kind_of(label);
    const auto whole = read_capacity(number->end);
    std::size_t end = whole ? whole->end : number->end;
    const bool is_taken = kind && add(*kind, label, *number, whole);
    // A share of the memory leaves its label to the amount behind it.
    const bool is_share = end < text_.line.size() && text_.line[end] == '%';
    if (is_taken || !is_share) label_begin_ = end;
    return std::max(end, begin + 1);
  }

  // "/ 16.0 GiB" behind an amount.
  std::optional<Number> read_capacity(std::size_t at) const {
    const auto skip = [&] {
      while (at < text_.line.size() && text_.line[at] == ' ') ++at;
    };
    skip();
    if (at >= text_.line.size() || text_.line[at] != '/') return std::nullopt;
    ++at;
    skip();
    if (at >= text_.line.size() || !is_digit(text_.line[at])) return std::nullopt;
    return read_number(text_, at);
  }

  bool add(MemoryKind kind, const Label& label, Number number, const std::optional<Number>& whole) {
    if (!number.factor && whole) number.factor = whole->factor;
    const auto factor = factor_of(number, label);
    if (!factor) return false;
    const auto amount = to_amount(number.value, *factor);
    if (!amount) return false;
    MemoryFigure figure{kind,
                        label.has({"max", "peak", "highest", "maximum"}),
                        join_words(label),
                        device_before(std::string_view(text_.lower).substr(0, number.begin)),
                        *amount,
                        {}};
    if (whole) figure.capacity = to_amount(whole->value, whole->factor.value_or(*factor));
    if (figure.capacity && *figure.capacity < figure.amount) figure.capacity.reset();
    const bool is_known =
        std::any_of(figures_.begin(), figures_.end(), [&](const MemoryFigure& one) {
          return one.kind == kind && one.label == figure.label && one.device == figure.device;
        });
    if (!is_known) figures_.push_back(std::move(figure));
    return true;
  }

  Text text_;
  std::size_t label_begin_ = 0;
  std::vector<MemoryFigure> figures_;
};

}  // namespace

std::string_view to_string(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::allocated:
      return "allocated";
    case MemoryKind::reserved:
      return "reserved";
    case MemoryKind::device:
      return "device";
    case MemoryKind::host:
      return "host";
  }
  return "";
}

MemoryLine find_memory_figures(std::string_view line) {
  Finder finder(line.substr(0, longest_looked_at));
  // A failure's figures are of the moment in which the request was refused, and are read as such.
  if (finder.lower().find("out of memory") != std::string::npos ||
      finder.lower().find("tried to allocate") != std::string::npos) {
    return {};
  }
  MemoryLine found;
  found.figures = finder.find();
  if (!found.figures.empty()) found.step = find_work_step(finder.lower());
  return found;
}

}  // namespace headroom::logs
