// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "base/text.h"
#include "plan/settings/setting_lines.h"

namespace headroom::plan {
namespace {

bool goes(const PlaceRewrite& rewrite) {
  return rewrite.what == Rewrite::take_out;
}

// The blanks that begin the line at `at`.
std::string_view indent_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && (text[end] == ' ' || text[end] == '\t')) ++end;
  return text.substr(at, end - at);
}

class Rewriter {
 public:
  Rewriter(std::string_view text, const SettingLines& lines,
           const std::vector<PlaceRewrite>& rewrites)
      : text_(text), lines_(lines), rewrites_(rewrites) {}

  std::string run() {
    count();
    for (std::size_t i = 0; i < lines_.places.size(); ++i) add_place(i);
    for (std::size_t i = 0; i < lines_.statements.size(); ++i) {
      if (is_empty(i)) cuts_.push_back(lines_.statements[i].when_empty);
    }
    for (std::size_t i = 0; i < lines_.blocks.size(); ++i) {
      const SettingBlock& block = lines_.blocks[i];
      if (block.members > 0 && gone_of_block_[i] == block.members) {
        cuts_.push_back(block.when_empty);
      }
    }
    add_remarks();
    return apply();
  }

 private:
  void count() {
    gone_.resize(lines_.statements.size());
    gone_of_block_.resize(lines_.blocks.size());
    for (std::size_t i = 0; i < lines_.places.size(); ++i) {
      if (!goes(rewrites_[i])) continue;
      const SettingPlace& place = lines_.places[i];
      ++gone_[place.statement];
      if (place.block) ++gone_of_block_[*place.block];
    }
  }

  bool is_empty(std::size_t statement) const {
    const std::size_t members = lines_.statements[statement].members;
    return members > 0 && gone_[statement] == members;
  }

  void add_place(std::size_t i) {
    const SettingPlace& place = lines_.places[i];
    const SettingStatement& statement = lines_.statements[place.statement];
    if (rewrites_[i].what == Rewrite::rename) {
      cuts_.push_back({place.name_begin, place.name_begin + place.name.size(), rewrites_[i].name});
      return;
    }
    if (!goes(rewrites_[i])) return;
    const bool empty = is_empty(place.statement);
    if (!empty) cuts_.push_back(place.cut);
    if (empty && statement.shows_itself) return;
    remarks_[statement.line_begin].push_back(place.name + "=" + place.value);
  }

  void add_remarks() {
    for (const auto& [at, names] : remarks_) {
      std::string remark(indent_at(text_, at));
      remark += std::string(taken_out_mark()) + " of the next line: ";
      for (const char c : join(names, ", ")) remark += c == '\n' || c == '\r' ? ' ' : c;
      cuts_.push_back({at, at, remark + std::string(line_end())});
    }
  }

  std::string_view line_end() const {
    const std::size_t end = text_.find('\n');
    return end != std::string_view::npos && end > 0 && text_[end - 1] == '\r' ? "\r\n" : "\n";
  }

  // Neighbours that both go may share the blanks between them.
  std::string apply() {
    std::stable_sort(cuts_.begin(), cuts_.end(), [](const Cut& a, const Cut& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    std::string after;
    std::size_t at = 0;
    for (const Cut& cut : cuts_) {
      if (cut.begin > at) after += text_.substr(at, cut.begin - at);
      after += cut.with;
      at = std::max(at, cut.end);
    }
    return after + std::string(text_.substr(at));
  }

  std::string_view text_;
  const SettingLines& lines_;
  const std::vector<PlaceRewrite>& rewrites_;
  std::vector<std::size_t> gone_, gone_of_block_;
  std::map<std::size_t, std::vector<std::string>> remarks_;
  std::vector<Cut> cuts_;
};

}  // namespace

std::string rewrite(std::string_view text, const SettingLines& lines,
                    const std::vector<PlaceRewrite>& rewrites) {
  return Rewriter(text, lines, rewrites).run();
}

std::string_view taken_out_mark() {
  return "# headroom: taken out";
}

SettingLines find_setting_lines(SettingSyntax syntax, std::string_view text) {
  switch (syntax) {
    case SettingSyntax::shell:
      return find_in_shell(text, false);
    case SettingSyntax::fish:
      return find_in_shell(text, true);
    case SettingSyntax::assignments:
      return find_in_assignments(text);
    case SettingSyntax::pam:
      return find_in_pam(text);
    case SettingSyntax::unit:
    case SettingSyntax::quadlet:
      return find_in_unit(text);
    case SettingSyntax::compose:
      return find_in_compose(text);
    case SettingSyntax::fish_universal:
    case SettingSyntax::dockerfile:
      break;
  }
  return {};
}

}  // namespace headroom::plan
