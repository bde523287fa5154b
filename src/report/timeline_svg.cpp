// SPDX-License-Identifier: Apache-2.0
#include "report/timeline_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/document.h"
#include "report/chart_axis.h"
#include "report/html.h"
#include "report/step_path.h"
#include "report/style.h"

namespace headroom::report {
namespace {

using estimate::PhaseSpan;
using estimate::Timeline;
using estimate::TimelinePoint;

constexpr double left = chart_left;
constexpr double right = chart_right;
constexpr double top = chart_top;
constexpr double bottom = chart_bottom;

// A capacity beyond so many times what is held would press the step to the ground.
constexpr double capacity_shown_up_to = 3;

std::string human(std::uint64_t bytes) {
  return to_string(Bytes{bytes});
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart)
      : chart_(chart), timeline_(chart.timeline), held_(most_held(chart)) {
    const auto capacity = static_cast<double>(chart.capacity_bytes.value_or(0));
    const auto held = static_cast<double>(held_);
    capacity_shown_ = capacity > 0 && capacity <= capacity_shown_up_to * held;
    highest_ = 1.06 * (capacity_shown_ ? std::max(capacity, held) : held);
  }

  std::string run() {
    const std::string& id = chart_.id;
    add("<svg id=\"{0}\" class=\"chart\" viewBox=\"0 0 {1} {2}\" role=\"img\" "
        "aria-labelledby=\"{0}-title {0}-desc\"{3}>\n<title id=\"{0}-title\">{4}</title>\n"
        "<desc id=\"{0}-desc\">{5}</desc>\n",
        id, chart_.width, chart_.height, chart_.small ? "" : " tabindex=\"0\"",
        escape_html(chart_.title), escape_html(description()));
    if (!timeline_.points.empty()) {
      add_axis();
      add_phases();
      add_context();
      add_components();
      add_reserved();
      add_capacity();
      add_peak();
    }
    add("<line class=\"cursor\" x1=\"0\" x2=\"0\" y1=\"{}\" y2=\"{}\" visibility=\"hidden\"/>\n",
        top, base());
    svg_ += "</svg>\n";
    return std::move(svg_);
  }

  double plot_width() const { return chart_.width - left - right; }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Args>(args)...);
  }

  static std::uint64_t most_held(const Chart& chart) {
    const Timeline& timeline = chart.timeline;
    std::uint64_t most = timeline.reserved_peak_bytes;
    for (const TimelinePoint& point : timeline.points)
      most = std::max({most, point.live_bytes, point.reserved_bytes});
    return std::max<std::uint64_t>(1, most + chart.context_bytes);
  }

  double base() const { return chart_.height - bottom; }
  double x_of(std::uint32_t event) const {
    return left + plot_width() * event / std::max<std::uint32_t>(1, timeline_.events);
  }
  double y_of(std::uint64_t bytes) const {
    return base() - (base() - top) * static_cast<double>(bytes) / highest_;
  }

  std::string description() const {
    if (timeline_.points.empty()) return "Nothing is allocated.";
    const TimelinePoint& peak = timeline_.points[timeline_.peak];
    std::string text = fmt::format(
        "The most is live in the {} phase, {}, when {} is allocated. The allocator holds up to {}.",
        to_string(peak.phase), human(peak.live_bytes), peak.tensor,
        human(timeline_.reserved_peak_bytes));
    if (chart_.capacity_bytes)
      text += fmt::format(" The device has {}.", human(*chart_.capacity_bytes));
    return text;
  }

  void add_axis() {
    const auto highest = static_cast<std::uint64_t>(highest_);
    const std::uint64_t step = tick_step(highest);
    for (std::uint64_t tick = 0; tick <= highest; tick += step) {
      add("<line class=\"grid\" x1=\"{0}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
          "<text class=\"tick\" x=\"{3}\" y=\"{4:.1f}\">{5}</text>\n",
          left, chart_.width - right, y_of(tick), left - 6, y_of(tick) + 4, human(tick));
    }
  }

  // The names below the plot, and a line where one phase ends.
  void add_phases() {
    for (const PhaseSpan& span : timeline_.phases) {
      const double begin = x_of(span.begin);
      const double width = x_of(span.end) - begin;
      const std::string_view name = to_string(span.phase);
      add("<rect class=\"phase phase-{0}\" x=\"{1:.1f}\" y=\"{2}\" width=\"{3:.1f}\" height=\"18\">"
          "<title>{0}</title></rect>",
          name, begin, base() + 4, width);
      if (width >= label_width(name) + 4)
        add("<text class=\"phase-name\" x=\"{:.1f}\" y=\"{}\">{}</text>", begin + width / 2,
            base() + 17, name);
      if (span.begin > 0)
        add("<line class=\"{0}\" x1=\"{1:.1f}\" x2=\"{1:.1f}\" y1=\"{2}\" y2=\"{3}\"/>",
            span.after_gap ? "gap" : "border", begin, top, base() + 22);
      svg_ += '\n';
    }
  }

  void add_context() {
    if (chart_.context_bytes == 0) return;
    const double y = y_of(chart_.context_bytes);
    add("<rect class=\"context\" x=\"{}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
        "<title>the driver's context, {}</title></rect>\n",
        left, y, plot_width(), base() - y, human(chart_.context_bytes));
  }

  template <class Value>
  std::string steps(Value value) const {
    StepPath path;
    for (const TimelinePoint& point : timeline_.points)
      path.add(x_of(point.event), y_of(value(point) + chart_.context_bytes));
    return path.finish(x_of(timeline_.events));
  }

  // From the whole down to the first component, each over the one before: only upper edges are
  // drawn.
  void add_components() {
    for (std::size_t count = allocator::component_count; count > 0; --count) {
      const allocator::Component component = allocator::all_components.at(count - 1);
      const bool ever =
          std::any_of(timeline_.points.begin(), timeline_.points.end(),
                      [component](const TimelinePoint& p) { return p.live[component] > 0; });
      if (!ever) continue;
      const auto up_to_it = [count](const TimelinePoint& point) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < count; ++i) sum += point.live[allocator::all_components.at(i)];
        return sum;
      };
      add("<path class=\"area component-{}\" d=\"{}V{:.1f}H{:.1f}Z\"/>\n", to_string(component),
          steps(up_to_it), y_of(chart_.context_bytes), left);
    }
  }

  void add_reserved() {
    add("<path class=\"reserved\" d=\"{}\"/>\n",
        steps([](const TimelinePoint& point) { return point.reserved_bytes; }));
  }

  void add_capacity() {
    if (!chart_.capacity_bytes) return;
    const std::string label = "capacity " + human(*chart_.capacity_bytes);
    if (!capacity_shown_) {
      if (!chart_.small) add_label(left + 6, top - 12, true, label + ", above this picture");
      return;
    }
    const double y = y_of(*chart_.capacity_bytes);
    add("<line class=\"capacity\" x1=\"{0}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\">"
        "<title>{3}</title></line>\n",
        left, chart_.width - right, y, label);
    if (!chart_.small) add_label(left + 6, y - 7, true, label);
  }

  void add_peak() {
    const TimelinePoint& peak = timeline_.points[timeline_.peak];
    const double x = x_of(peak.event);
    const double y = y_of(peak.live_bytes + chart_.context_bytes);
    add("<circle class=\"peak\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>\n", x, y,
        chart_.small ? 3 : 4.5);
    if (chart_.small) return;
    const bool to_right = x <= left + plot_width() / 2;
    add_label(to_right ? x + 10 : x - 10, std::max(top + 12, y - 9), to_right,
              fmt::format("peak {}: {}", human(peak.live_bytes), peak.tensor));
  }

  // With something behind it, so that no line runs through the words.
  void add_label(double x, double y, bool to_right, const std::string& text) {
    const double width = bold_label_width(text) + 8;
    // A long name begins further inside, so that its end is not cut off.
    x = to_right ? std::max(4.0, std::min(x, chart_.width - width + 4)) : std::max(x, width - 4);
    add("<rect class=\"backing\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"16\"/>"
        "<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
        to_right ? x - 4 : x - width + 4, y - 12, width, x, y, to_right ? "start" : "end",
        escape_html(text));
  }

  const Chart& chart_;
  const Timeline& timeline_;
  std::uint64_t held_;
  bool capacity_shown_ = false;
  double highest_ = 1;
  std::string svg_;
};

}  // namespace

std::string to_svg(const Chart& chart) {
  return Drawing(chart).run();
}

Json hover_data(const Chart& chart) {
  const Timeline& timeline = chart.timeline;
  std::map<std::string_view, std::size_t> places;
  Json names = Json::array();
  Json points = Json::array();
  for (const TimelinePoint& point : timeline.points) {
    const auto [place, is_new] = places.try_emplace(point.tensor, names.size());
    if (is_new) names.push_back(point.tensor);
    Json row = {point.event,        to_string(point.phase), place->second,       point.allocates,
                point.tensor_bytes, point.live_bytes,       point.reserved_bytes};
    for (const auto component : allocator::all_components) row.push_back(point.live[component]);
    points.push_back(std::move(row));
  }
  return {{"chart", chart.id},
          {"left", left},
          {"plot", chart.width - left - right},
          {"width", chart.width},
          {"events", timeline.events},
          {"names", names},
          {"points", points}};
}

}  // namespace headroom::report
