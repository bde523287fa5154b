// SPDX-License-Identifier: Apache-2.0
#include "logs/fold.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "logs/fold_evidence.h"
#include "logs/fold_line.h"

namespace headroom::logs {
namespace {

constexpr std::size_t narrowest = 40;  // Nobody folds at less.
constexpr std::size_t most_prefixes = 3;

// A border between a line and the next one that may be a fold.
struct Border {
  std::size_t depth = 0;   // Prefixes that both have, and the second no more than these.
  std::size_t width = 0;   // Of the first, behind them.
  std::size_t word = 0;    // The second's first word.
  std::size_t indent = 0;  // The second's.
  bool is_possible = false;
  std::array<Found, 3> found{};  // By Glue.
};

// Which lines a fold may take in: a text may hold several pastes, folded alike or each by itself.
enum class Reach { part, whole_text };

// How a part of the text was folded.
struct Fold {
  std::size_t begin = 0, end = 0;  // Lines.
  std::size_t depth = 0, width = 0;
  Glue glue = Glue::nothing;
  std::size_t indent = 0;  // Of a hanging indent.
  int score = 0;
  int signatures = 0;  // Found across its borders.
};

// Reads like the middle of a sentence. Next lines seldom fit behind one that is nearly full, so
// where lines are folded at blanks that alone says little.
bool goes_on(std::string_view text) {
  text.remove_prefix(indent_of(text));
  if (text.empty()) return false;
  const char first = text.front();
  const bool is_word = (first >= 'a' && first <= 'z') || (first >= '0' && first <= '9');
  return is_word || std::string_view("(/<&").find(first) != std::string_view::npos;
}

class Unfolder {
 public:
  Unfolder(const PastedLines& lines, const Matcher& matcher) : evidence_(matcher) {
    lines_.reserve(lines.size());
    for (const PastedLine& line : lines) lines_.emplace_back(line);
    find_borders();
  }

  // The folds that show, without overlap, in the order of the lines.
  std::vector<Fold> find_folds() const;
  // The fold joins the line with the next one.
  bool joins(const Fold& fold, std::size_t line) const;
  // What is behind the border, as it goes on.
  std::string continuation(const Fold& fold, std::size_t line) const;

 private:
  void find_borders();
  Border look_at_border(std::size_t line) const;
  bool is_alike(std::size_t border, std::size_t other, Glue glue) const;
  std::string continuation(std::size_t line, Glue glue, std::size_t indent) const;
  Found evidence_at(std::size_t border, Glue glue);
  std::size_t pieces_to_join(std::size_t border, Glue glue);
  std::vector<Fold> propose() const;
  Fold make_fold(std::size_t border, Glue glue, Reach reach) const;
  std::size_t indent_in(const Fold& fold) const;
  bool is_cut(std::size_t line, std::size_t width) const;
  static const Found& found_for(const Fold& fold, const Border& border);
  bool is_full(const Fold& fold, std::size_t line) const;
  bool begins_part(std::size_t line) const;
  void rate(Fold& fold) const;

  std::vector<FoldLine> lines_;
  std::vector<Border> borders_;  // Behind each line but the last.
  FoldEvidence evidence_;
  // How many borders were looked at, by prefixes, width and glue.
  std::map<std::tuple<std::size_t, std::size_t, Glue>, std::size_t> looked_at_;
};

void Unfolder::find_borders() {
  borders_.resize(lines_.size());
  for (std::size_t line = 0; line + 1 < lines_.size(); ++line)
    borders_[line] = look_at_border(line);
  for (std::size_t line = 0; line + 1 < lines_.size(); ++line) {
    if (!borders_[line].is_possible) continue;
    for (const Glue glue : {Glue::nothing, Glue::without_indent, Glue::blank}) {
      if (glue == Glue::without_indent && borders_[line].indent < 2) continue;
      if (glue != Glue::blank && borders_[line].width < narrowest) continue;
      borders_[line].found[static_cast<std::size_t>(glue)] = evidence_at(line, glue);
    }
  }
}

Border Unfolder::look_at_border(std::size_t line) const {
  const FoldLine& first = lines_[line];
  const FoldLine& second = lines_[line + 1];
  Border border;
  border.depth = second.common_depth(first);
  border.width = first.width(border.depth);
  if (border.depth > most_prefixes || first.is_blank()) return border;
  const std::string_view after = second.body(border.depth);
  border.indent = indent_of(after);
  border.word = first_word_of(after);
  if (border.width + 1 + border.word < narrowest) return border;
  border.is_possible = second.ends_row_of(first) ||
                       (!second.begins_anew() && !second.has_own_beginning(first, border.depth));
  return border;
}

// Whether the same fold as at `border` may be at another one, as far as their widths tell.
bool Unfolder::is_alike(std::size_t border, std::size_t other, Glue glue) const {
  const Border& here = borders_[border];
  const Border& there = borders_[other];
  if (!there.is_possible || there.depth != here.depth) return false;
  if (glue != Glue::blank) return there.width == here.width;
  return there.width + 1 + there.word > here.width && here.width + 1 + here.word > there.width;
}

// `indent`: of the hanging indent, if there is one.
std::string Unfolder::continuation(std::size_t line, Glue glue, std::size_t indent) const {
  const Border& border = borders_[line];
  const std::string_view after = lines_[line + 1].body(border.depth);
  if (glue == Glue::blank) return " " + std::string(after.substr(border.indent));
  return std::string(after.substr(glue == Glue::nothing ? 0 : std::min(indent, border.indent)));
}

// A message may need several pieces to be known. Where very many borders are alike, a fold shows at
// some of them by now, and each later one needs no more than its neighbours: a log whose lines all
// have one width would be matched thirteen times over.
std::size_t Unfolder::pieces_to_join(std::size_t border, Glue glue) {
  constexpr std::size_t most_pieces = 6, nearest = 1, many = 96;
  const Border& here = borders_[border];
  return looked_at_[{here.depth, here.width, glue}]++ < many ? most_pieces : nearest;
}

Found Unfolder::evidence_at(std::size_t border, Glue glue) {
  const std::size_t most_pieces = pieces_to_join(border, glue);
  std::size_t begin = border, end = border + 1;
  while (begin > 0 && border - begin < most_pieces && is_alike(border, begin - 1, glue)) --begin;
  while (end + 1 < lines_.size() && end - border < most_pieces && is_alike(border, end, glue))
    ++end;
  std::size_t indent = borders_[border].indent;
  for (std::size_t line = begin; line < end; ++line)
    indent = std::min(indent, borders_[line].indent);
  std::string before(lines_[begin].text()), after;
  std::size_t widest = 0;
  for (std::size_t line = begin; line < end; ++line)
    widest = std::max(widest, borders_[line].width);
  const auto piece = [&](std::size_t line) {
    const bool is_whole = glue != Glue::blank || !is_cut(line, widest);
    return is_whole ? continuation(line, glue, indent)
                    : continuation(line, Glue::without_indent, borders_[line].indent);
  };
  for (std::size_t line = begin; line < border; ++line) before += piece(line);
  for (std::size_t line = border; line < end; ++line) after += piece(line);
  const bool has_blank = glue == Glue::blank && after.starts_with(' ');
  return evidence_.of(before, has_blank ? " " : "",
                      std::string_view(after).substr(has_blank ? 1 : 0));
}

Fold Unfolder::make_fold(std::size_t border, Glue glue, Reach reach) const {
  const Border& here = borders_[border];
  Fold fold{border, border + 2, here.depth, here.width, glue, 0, 0};
  // At blanks the width is known only from below, by the widest line, and from above, by the first
  // word that did not fit.
  const std::size_t most = glue == Glue::blank ? here.width + here.word : here.width;
  const auto takes_in = [&](std::size_t line) {
    const std::size_t width = lines_[line].width(fold.depth);
    if (width <= fold.width) return true;
    if (glue != Glue::blank) return false;
    if (has_one_word(lines_[line].body(fold.depth))) return true;
    if (width > most) return false;
    fold.width = width;
    return true;
  };
  const auto ends_at = [&](std::size_t line) {
    return reach == Reach::part && line < lines_.size() && lines_[line].is_apart();
  };
  takes_in(border + 1);
  while (fold.end < lines_.size() && !ends_at(fold.end) && takes_in(fold.end)) ++fold.end;
  while (fold.begin > 0 && !ends_at(fold.begin) && takes_in(fold.begin - 1)) --fold.begin;
  if (glue == Glue::without_indent) fold.indent = indent_in(fold);
  if (glue == Glue::blank && here.indent > 1) fold.indent = here.indent;
  return fold;
}

// The blanks that all continuations have.
std::size_t Unfolder::indent_in(const Fold& fold) const {
  std::size_t least = std::string_view::npos;
  for (std::size_t line = fold.begin; line + 1 < fold.end; ++line) {
    if (joins(fold, line)) least = std::min(least, borders_[line].indent);
  }
  return least == std::string_view::npos ? 0 : least;
}

bool Unfolder::joins(const Fold& fold, std::size_t line) const {
  if (line < fold.begin || line + 1 >= fold.end) return false;
  const Border& border = borders_[line];
  if (!border.is_possible || border.depth != fold.depth) return false;
  if (fold.glue == Glue::without_indent && border.indent < 2) return false;
  if (fold.glue != Glue::blank) return border.width >= fold.width;
  if (std::max(border.indent, std::size_t{1}) != std::max(fold.indent, std::size_t{1})) {
    return false;
  }
  // Some people fold by hand, where a sentence ends.
  const Evidence evidence = border.found[static_cast<std::size_t>(Glue::blank)].evidence;
  if (evidence == Evidence::tight) return true;
  if (border.width + 1 + border.word <= fold.width) return false;
  return evidence == Evidence::loose || goes_on(lines_[line + 1].body(fold.depth));
}

std::string Unfolder::continuation(const Fold& fold, std::size_t line) const {
  if (fold.glue != Glue::blank) return continuation(line, fold.glue, fold.indent);
  if (is_cut(line, fold.width))
    return continuation(line, Glue::without_indent, borders_[line].indent);
  return continuation(line, Glue::blank, fold.indent);
}

// A word that is longer than the width was cut in two, where lines are folded at blanks.
bool Unfolder::is_cut(std::size_t line, std::size_t width) const {
  const Border& border = borders_[line];
  const std::string_view before = lines_[line].text();
  if (border.width < width) return false;
  if (last_word_of(before) + border.word + border.indent <= width) return false;
  // Behind a full stop a sentence begins, within a name another part of it.
  const std::string_view after = lines_[line + 1].body(border.depth).substr(border.indent);
  const bool is_name = before.back() == '.' && after.front() >= 'a' && after.front() <= 'z';
  return is_name || std::string_view(",;:.)\"'").find(before.back()) == std::string_view::npos;
}

const Found& Unfolder::found_for(const Fold& fold, const Border& border) {
  const auto& [nothing, without_indent, blank] = border.found;
  if (fold.glue == Glue::blank) return blank;
  if (fold.glue == Glue::nothing || border.indent < 2) return nothing;
  // Behind the hanging indent there may be a blank of the text's own.
  const bool has_blank = border.indent > fold.indent && blank.evidence > without_indent.evidence;
  return has_blank ? blank : without_indent;
}

bool Unfolder::begins_part(std::size_t line) const {
  return line == 0 || line >= lines_.size() || lines_[line].is_apart() ||
         lines_[line - 1].is_blank();
}

// Whether the line is as wide as the fold and yet nothing of it stands on the next one. A rule of a
// table goes on in a shorter one.
bool Unfolder::is_full(const Fold& fold, std::size_t line) const {
  if (lines_[line].width(fold.depth) != fold.width) return false;
  const std::string_view before = lines_[line].text();
  const std::string_view after = lines_[line + 1].body(fold.depth);
  const bool is_rule = !after.empty() && before.back() == after.front() &&
                       std::string_view("=-*_").find(after.front()) != std::string_view::npos;
  return !is_rule || lines_[line + 1].width(fold.depth) >= fold.width;
}

void Unfolder::rate(Fold& fold) const {
  int tight = 0, loose = 0, typed = 0, joined = 0, against = 0, without_prefix = 0, unexplained = 0;
  for (std::size_t line = fold.begin; line + 1 < fold.end; ++line) {
    const Border& border = borders_[line];
    if (!joins(fold, line)) {
      against += is_full(fold, line) ? 1 : 0;
      unexplained += fold.indent > 0 && border.is_possible && border.indent == fold.indent ? 1 : 0;
      continue;
    }
    ++joined;
    without_prefix += lines_[line].depth() > fold.depth ? 1 : 0;
    const auto& [evidence, signatures] = found_for(fold, border);
    fold.signatures += signatures;
    // A command and what it printed read like one line, too.
    if (lines_[line].is_typed()) {
      typed += evidence > Evidence::none ? 1 : 0;
    } else if (evidence != Evidence::none) {
      ++(evidence == Evidence::tight ? tight : loose);
    }
  }
  // The widest lines of a part are those that were folded.
  const bool is_whole_part = begins_part(fold.begin) && begins_part(fold.end);
  const int found = 4 * tight + 2 * loose + std::min(typed, 2);
  fold.score = found + std::min(without_prefix, 2) + (is_whole_part ? 1 : 0);
  if (fold.glue == Glue::blank) return;
  fold.score += std::min(joined - 1, 3) - 2 * against - std::min(unexplained, 2);
}

std::vector<Fold> Unfolder::propose() const {
  constexpr std::size_t most_folds = 256;
  std::vector<Fold> folds;
  std::set<std::array<std::size_t, 5>> known;
  const auto add = [&](std::size_t border, Glue glue) {
    for (const Reach reach : {Reach::whole_text, Reach::part}) {
      if (folds.size() == most_folds) return;
      Fold fold = make_fold(border, glue, reach);
      // What was cut at a width goes on in pieces no wider.
      const bool is_wider = lines_[border + 1].width(fold.depth) > fold.width;
      if (glue != Glue::blank && is_wider) continue;
      const auto name = static_cast<std::size_t>(glue);
      if (!known.insert({fold.begin, fold.end, fold.depth, fold.width, name}).second) continue;
      rate(fold);
      constexpr int enough = 3;
      if (fold.score >= enough) folds.push_back(fold);
    }
  };
  for (std::size_t line = 0; line < borders_.size(); ++line) {
    const auto& [nothing, without_indent, blank] = borders_[line].found;
    // Of equals the first is taken.
    if (without_indent.signatures > 0) add(line, Glue::without_indent);
    if (nothing.signatures > 0) add(line, Glue::nothing);
    if (blank.signatures > 0) add(line, Glue::blank);
  }
  return folds;
}

std::vector<Fold> Unfolder::find_folds() const {
  std::vector<Fold> folds = propose();
  std::stable_sort(folds.begin(), folds.end(), [](const Fold& a, const Fold& b) {
    return std::pair(a.score, a.signatures) > std::pair(b.score, b.signatures);
  });
  std::vector<Fold> chosen;
  for (const Fold& fold : folds) {
    const bool overlaps = std::any_of(chosen.begin(), chosen.end(), [&](const Fold& other) {
      return fold.begin < other.end && other.begin < fold.end;
    });
    if (!overlaps) chosen.push_back(fold);
  }
  std::sort(chosen.begin(), chosen.end(),
            [](const Fold& a, const Fold& b) { return a.begin < b.begin; });
  return chosen;
}

}  // namespace

bool unfold(PastedLines& lines, const Matcher& matcher) {
  if (lines.size() < 2) return false;
  const Unfolder unfolder(lines, matcher);
  const std::vector<Fold> folds = unfolder.find_folds();
  if (folds.empty()) return false;
  PastedLines whole;
  auto fold = folds.begin();
  for (std::size_t line = 0; line < lines.size(); ++line) {
    while (fold != folds.end() && fold->end <= line) ++fold;
    PastedLine one{lines[line].text, lines[line].number, lines[line].is_apart};
    while (fold != folds.end() && unfolder.joins(*fold, line)) {
      one.text += unfolder.continuation(*fold, line);
      ++line;
    }
    whole.push_back(std::move(one));
  }
  lines = std::move(whole);
  return true;
}

}  // namespace headroom::logs
