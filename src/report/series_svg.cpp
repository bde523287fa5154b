// SPDX-License-Identifier: Apache-2.0
#include "report/series_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "base/bytes.h"
#include "base/document.h"
#include "report/chart_axis.h"
#include "report/html.h"

namespace headroom::report {
namespace {

constexpr double width = 960;
constexpr double height = 300;
constexpr double base = height - chart_bottom;
constexpr double right = width - chart_right;
constexpr double plot_width = right - chart_left;
// A level beyond this many times the highest value would press the curves to the ground.
constexpr double level_shown_up_to = 3;
constexpr std::size_t most_dots = 60;

class Drawing {
 public:
  explicit Drawing(const SeriesChart& chart) : chart_(chart) { find_range(); }

  std::string run() {
    const std::string& id = chart_.id;
    add("<svg id=\"{0}\" class=\"chart\" viewBox=\"0 0 {1} {2}\" role=\"img\" "
        "aria-labelledby=\"{0}-title {0}-desc\" tabindex=\"0\">\n"
        "<title id=\"{0}-title\">{3}</title>\n<desc id=\"{0}-desc\">{4}</desc>\n",
        id, width, height, escape_html(chart_.title), escape_html(description()));
    if (has_values_) {
      add_axes();
      add_marks();
      for (const Series& series : chart_.series) add_series(series);
      add_levels();
    }
    add("<line class=\"cursor\" x1=\"0\" x2=\"0\" y1=\"{}\" y2=\"{}\" visibility=\"hidden\"/>\n",
        chart_top, base);
    svg_ += "</svg>\n";
    return std::move(svg_);
  }

  double x_of(double step) const {
    const auto last = static_cast<double>(std::max<std::uint64_t>(chart_.last_step, 1));
    return chart_left + plot_width * std::min(step / last, 1.0);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Args>(args)...);
  }

  void find_range() {
    for (const Series& series : chart_.series) {
      if (series.curve.empty()) continue;
      const double lowest = series.curve.lowest(), highest = series.curve.highest();
      low_ = has_values_ ? std::min(low_, lowest) : lowest;
      high_ = has_values_ ? std::max(high_, highest) : highest;
      has_values_ = true;
    }
    highest_value_ = high_;
    for (const Level& level : chart_.levels)
      if (is_shown(level)) high_ = std::max(high_, level.value);
    constexpr double near_to_zero = 0.4;
    constexpr double margin = 0.06;
    const bool reaches_down = low_ >= 0 && low_ <= near_to_zero * high_;
    if (chart_.from_zero || reaches_down) low_ = std::min(low_, 0.0);
    const double spread = high_ - low_;
    const double least_room = std::max(1e-6, 1e-6 * std::abs(high_));
    const double room = spread > 0 ? std::max(margin * spread, least_room)
                                   : std::max(margin * std::abs(high_), least_room);
    if (low_ != 0) low_ -= room;
    high_ += room;
  }

  bool is_shown(const Level& level) const {
    return level.value <= level_shown_up_to * std::max(highest_value_, 1.0);
  }

  double y_of(double value) const {
    return base - (base - chart_top) * (value - low_) / (high_ - low_);
  }

  std::string description() const {
    if (!has_values_) return "There are no values.";
    std::string text;
    for (const Series& series : chart_.series) {
      if (series.curve.empty()) continue;
      const auto& pieces = series.curve.pieces();
      text += fmt::format(
          "{}: {} at the beginning (step {}), {} at the end (step {}), between {} "
          "and {}. ",
          series.name, to_text(pieces.front().mean(), chart_.amount), pieces.front().first,
          to_text(series.curve.latest(), chart_.amount), pieces.back().last,
          to_text(series.curve.lowest(), chart_.amount),
          to_text(series.curve.highest(), chart_.amount));
    }
    for (const Level& level : chart_.levels)
      text += fmt::format("{}: {}. ", level.name, to_text(level.value, chart_.amount));
    if (!chart_.marks.empty()) text += fmt::format("{} marks at steps.", chart_.marks.size());
    return text;
  }

  void add_axes() {
    if (chart_.amount == Amount::bytes) {
      const auto highest = static_cast<std::uint64_t>(high_);
      const std::uint64_t step = tick_step(highest);
      for (std::uint64_t tick = 0; tick <= highest; tick += step)
        add_tick(static_cast<double>(tick), to_string(Bytes{tick}));
    } else {
      const double step = number_step(high_ - low_);
      for (double tick = std::ceil(low_ / step) * step; tick <= high_; tick += step)
        add_tick(tick, fmt::format("{:.6g}", std::abs(tick) < step / 2 ? 0.0 : tick));
    }
    const std::uint64_t step = event_step(std::max<std::uint64_t>(chart_.last_step, 1));
    for (std::uint64_t tick = 0; tick <= chart_.last_step; tick += step) {
      const std::string label = std::to_string(tick);
      // Moved inwards where its end would lie outside of the picture.
      const double x = std::min(x_of(static_cast<double>(tick)), width - label_width(label) / 2);
      add("<text class=\"event\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", x, base + 18, label);
    }
  }

  void add_tick(double value, const std::string& label) {
    const double y = y_of(value);
    if (y > base + 1 || y < chart_top / 2) return;
    add("<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
        "<text class=\"tick\" x=\"{3}\" y=\"{4:.1f}\">{5}</text>\n",
        chart_left, right, y, chart_left - 6, y + 4, label);
  }

  void add_marks() {
    for (const StepMark& mark : chart_.marks) {
      const double x = x_of(static_cast<double>(mark.step));
      add("<line class=\"mark mark-{0}\" x1=\"{1:.1f}\" x2=\"{1:.1f}\" y1=\"{2}\" y2=\"{3}\">"
          "<title>{4}</title></line>\n",
          mark.kind, x, mark.kind == "checkpoint" ? base - 8 : chart_top, base,
          escape_html(mark.text));
    }
  }

  void add_series(const Series& series) {
    const auto& pieces = series.curve.pieces();
    if (pieces.empty()) return;
    const auto point = [this](const CurvePiece& piece, double value) {
      return fmt::format("{:.1f} {:.1f}", x_of(piece.middle()), y_of(value));
    };
    std::string line, band;
    for (const CurvePiece& piece : pieces) {
      line += (line.empty() ? "M" : "L") + point(piece, piece.mean());
      band += (band.empty() ? "M" : "L") + point(piece, piece.highest);
    }
    const bool is_thinned = std::any_of(pieces.begin(), pieces.end(),
                                        [](const CurvePiece& piece) { return piece.count > 1; });
    if (is_thinned) {
      for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece)
        band += "L" + point(*piece, piece->lowest);
      add("<path class=\"band band-{}\" d=\"{}Z\"/>\n", series.kind, band);
    }
    add("<path class=\"curve curve-{}\" d=\"{}\"/>\n", series.kind, line);
    if (pieces.size() > most_dots) return;
    for (const CurvePiece& piece : pieces)
      add("<circle class=\"dot dot-{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>\n", series.kind,
          x_of(piece.middle()), y_of(piece.mean()));
  }

  void add_levels() {
    double above = chart_left + 6;
    std::vector<double> taken;  // Heights of labels.
    for (const Level& level : chart_.levels) {
      const std::string label = level.name + " " + to_text(level.value, chart_.amount);
      if (!is_shown(level)) {
        const std::string words = label + ", above this picture";
        add_label(above, chart_top - 12, words);
        above += bold_label_width(words) + 16;
        continue;
      }
      const double y = y_of(level.value);
      add("<line class=\"level {0}\" x1=\"{1}\" x2=\"{2}\" y1=\"{3:.1f}\" y2=\"{3:.1f}\">"
          "<title>{4}</title></line>\n",
          level.kind, chart_left, right, y, escape_html(label));
      // Two that are near each other have their labels side by side.
      double x = chart_left + 6;
      for (const double other : taken)
        if (std::abs(other - y) < 18) x += plot_width / 3;
      add_label(x, y - 7, label);
      taken.push_back(y);
    }
  }

  // With something behind it, so that no line runs through the words.
  void add_label(double x, double y, const std::string& text) {
    add("<rect class=\"backing\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"16\"/>"
        "<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        x - 4, y - 12, bold_label_width(text) + 8, x, y, escape_html(text));
  }

  const SeriesChart& chart_;
  bool has_values_ = false;
  double low_ = 0, high_ = 1, highest_value_ = 1;
  std::string svg_;
};

// The series with the most pieces, whose steps the others are told at; null if none has any.
const ThinnedCurve* finest(const SeriesChart& chart) {
  const ThinnedCurve* most = nullptr;
  for (const Series& series : chart.series) {
    if (series.curve.empty()) continue;
    if (most == nullptr || series.curve.pieces().size() > most->pieces().size())
      most = &series.curve;
  }
  return most;
}

std::string head_cell(std::string_view name, bool is_number) {
  return fmt::format("<th scope=\"col\"{}>{}</th>", is_number ? " class=\"number\"" : "",
                     escape_html(name));
}

}  // namespace

std::string to_text(double value, Amount amount) {
  if (amount == Amount::bytes)
    return to_string(Bytes{static_cast<std::uint64_t>(std::max(value, 0.0))});
  constexpr double many = 1000;
  return std::abs(value) >= many ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string to_text(const CurvePiece& piece, Amount amount) {
  std::string mean = to_text(piece.mean(), amount);
  std::string lowest = to_text(piece.lowest, amount), highest = to_text(piece.highest, amount);
  if (lowest == highest) return mean;
  return fmt::format("{} ({} to {})", mean, lowest, highest);
}

std::string steps_text(const CurvePiece& piece) {
  return piece.first == piece.last ? fmt::format("step {}", piece.first)
                                   : fmt::format("steps {} to {}", piece.first, piece.last);
}

std::string to_svg(const SeriesChart& chart) {
  return Drawing(chart).run();
}

Json hover_data(const SeriesChart& chart) {
  const Drawing drawing(chart);
  Json points = Json::array();
  if (const ThinnedCurve* steps = finest(chart)) {
    for (const CurvePiece& piece : steps->pieces()) {
      std::string words = steps_text(piece);
      for (const Series& series : chart.series)
        if (const CurvePiece* own = series.curve.piece_at(piece.last))
          words += fmt::format("; {} {}", series.name, to_text(*own, chart.amount));
      points.push_back({std::round(10 * drawing.x_of(piece.middle())) / 10, words});
    }
  }
  return {{"chart", chart.id}, {"width", width}, {"points", points}};
}

std::string to_table(const SeriesChart& chart, std::size_t rows) {
  const ThinnedCurve* steps = finest(chart);
  if (steps == nullptr) return "";
  std::string table = "<table>\n<thead><tr>" + head_cell("steps", false);
  for (const Series& series : chart.series) table += head_cell(series.name, true);
  table += "</tr></thead>\n<tbody>\n";
  const auto& pieces = steps->pieces();
  const std::size_t count = std::min(rows, pieces.size());
  for (std::size_t row = 0; row < count; ++row) {
    const std::size_t at = count < 2 ? pieces.size() - 1 : row * (pieces.size() - 1) / (count - 1);
    table += fmt::format("<tr><th scope=\"row\">{}</th>", steps_text(pieces[at]));
    for (const Series& series : chart.series) {
      const CurvePiece* own = series.curve.piece_at(pieces[at].last);
      table += fmt::format("<td class=\"number\">{}</td>",
                           own == nullptr ? "" : to_text(*own, chart.amount));
    }
    table += "</tr>\n";
  }
  return table + "</tbody>\n</table>\n";
}

}  // namespace headroom::report
