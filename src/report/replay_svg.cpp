// SPDX-License-Identifier: Apache-2.0
#include "report/replay_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "base/bytes.h"
#include "base/document.h"
#include "report/chart_axis.h"
#include "report/html.h"
#include "report/step_path.h"

namespace headroom::report {
namespace {

constexpr double width = 960;
constexpr double held_height = 260;
constexpr double address_height = 420;
constexpr double least_visible = 0.5;  // A block of less than a pixel still shows.

// A capacity beyond so many times what is held would press the curves to the ground.
constexpr std::uint64_t capacity_shown_up_to = 3;

std::string human(std::uint64_t bytes) {
  return to_string(Bytes{bytes});
}

class Canvas {
 public:
  Canvas(const ReplayPicture& picture, double height, std::uint64_t highest)
      : picture_(picture),
        height_(height),
        highest_(1.04 * static_cast<double>(std::max<std::uint64_t>(highest, 1))) {}

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Args>(args)...);
  }

  double base() const { return height_ - chart_bottom; }
  double right() const { return width - chart_right; }
  double x_of(std::uint64_t event) const {
    return chart_left + (right() - chart_left) * static_cast<double>(event) /
                            static_cast<double>(std::max<std::uint64_t>(picture_.events, 1));
  }
  double y_of(std::uint64_t bytes) const {
    return base() - (base() - chart_top) * static_cast<double>(bytes) / highest_;
  }

  void begin(const std::string& id, const std::string& title, const std::string& description) {
    add("<svg id=\"{0}\" class=\"chart\" viewBox=\"0 0 {1} {2}\" role=\"img\" "
        "aria-labelledby=\"{0}-title {0}-desc\">\n<title id=\"{0}-title\">{3}</title>\n"
        "<desc id=\"{0}-desc\">{4}</desc>\n",
        id, width, height_, escape_html(title), escape_html(description));
    const auto highest = static_cast<std::uint64_t>(highest_);
    const std::uint64_t step = tick_step(highest);
    for (std::uint64_t tick = 0; tick <= highest; tick += step)
      add("<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
          "<text class=\"tick\" x=\"{3}\" y=\"{4:.1f}\">{5}</text>\n",
          chart_left, right(), y_of(tick), chart_left - 6, y_of(tick) + 4, human(tick));
    const std::uint64_t events = event_step(picture_.events);
    for (std::uint64_t event = 0; event <= picture_.events; event += events) {
      const std::string label = std::to_string(event);
      // Moved inwards where its end would lie outside of the picture.
      const double middle = std::min(x_of(event), width - label_width(label) / 2);
      add("<text class=\"event\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", middle, base() + 18, label);
    }
  }

  // Where the policy refused: its last event.
  void add_failure() {
    if (picture_.row.result.completed) return;
    const double x = x_of(picture_.events);
    add("<line class=\"refused\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>"
        "<text class=\"label\" text-anchor=\"end\" x=\"{3:.1f}\" y=\"{4}\">refused: {5}</text>\n",
        x, chart_top, base(), x - 4, chart_top - 8, human(picture_.row.result.failed_bytes));
  }

  std::string end() {
    svg_ += "</svg>\n";
    return std::move(svg_);
  }

  std::string steps(const std::function<std::uint64_t(const HeldPoint&)>& value) const {
    StepPath path;
    for (const HeldPoint& point : picture_.held) path.add(x_of(point.event), y_of(value(point)));
    return path.finish(x_of(picture_.events));
  }

 private:
  const ReplayPicture& picture_;
  double height_;
  double highest_;
  std::string svg_;
};

std::uint64_t most_held(const ReplayPicture& picture) {
  std::uint64_t most = 1;
  for (const HeldPoint& point : picture.held)
    most = std::max({most, point.live_bytes, point.reserved_bytes});
  return most;
}

std::string held_description(const ReplayPicture& picture) {
  const allocator::Usage& usage = picture.row.result.usage;
  std::string text = fmt::format("At most {} are live and {} reserved.",
                                 human(usage.live_peak_bytes), human(usage.reserved_peak_bytes));
  if (picture.row.capacity_bytes)
    text += fmt::format(" The capacity is {}.", human(*picture.row.capacity_bytes));
  if (!picture.row.result.completed)
    text += fmt::format(" A request of {} is refused at the end.",
                        human(picture.row.result.failed_bytes));
  return text;
}

}  // namespace

std::string held_svg(const ReplayPicture& picture, const std::string& id) {
  const std::uint64_t held = most_held(picture);
  const std::uint64_t capacity = picture.row.capacity_bytes.value_or(0);
  const bool capacity_shown = capacity > 0 && capacity / capacity_shown_up_to <= held;
  Canvas canvas(picture, held_height, capacity_shown ? std::max(capacity, held) : held);
  canvas.begin(id, "Memory under " + picture.row.policy, held_description(picture));
  if (!picture.held.empty()) {
    canvas.add("<path class=\"live\" d=\"{}V{:.1f}H{:.1f}Z\"/>\n",
               canvas.steps([](const HeldPoint& point) { return point.live_bytes; }), canvas.base(),
               canvas.x_of(picture.held.front().event));
    canvas.add("<path class=\"reserved\" d=\"{}\"/>\n",
               canvas.steps([](const HeldPoint& point) { return point.reserved_bytes; }));
  }
  if (capacity_shown)
    canvas.add(
        "<line class=\"capacity\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
        "<text class=\"label\" x=\"{3}\" y=\"{4:.1f}\">capacity {5}</text>\n",
        chart_left, canvas.right(), canvas.y_of(capacity), chart_left + 6,
        canvas.y_of(capacity) - 7, human(capacity));
  canvas.add_failure();
  canvas.add(
      "<line class=\"cursor\" x1=\"0\" x2=\"0\" y1=\"{}\" y2=\"{}\" visibility=\"hidden\"/>\n",
      chart_top, canvas.base());
  return canvas.end();
}

std::string address_svg(const ReplayPicture& picture, const std::string& id) {
  Canvas canvas(picture, address_height, picture.address_bytes);
  canvas.begin(
      id, "Addresses under " + picture.row.policy,
      fmt::format("{} of {} blocks, each from the event that made it to the one that freed "
                  "it, in {} of addresses.",
                  picture.blocks.size(), picture.all_blocks, human(picture.address_bytes)));
  for (const allocator::Component component : allocator::all_components) {
    bool any = false;
    for (const DrawnBlock& block : picture.blocks) {
      if (block.tag != component) continue;
      if (!any) canvas.add("<g class=\"blocks component-{}\">\n", to_string(component));
      any = true;
      const double x = canvas.x_of(block.begin);
      const double y = canvas.y_of(block.place + block.bytes);
      canvas.add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", x, y,
                 std::max(least_visible, canvas.x_of(block.end) - x),
                 std::max(least_visible, canvas.y_of(block.place) - y));
    }
    if (any) canvas.add("</g>\n");
  }
  canvas.add_failure();
  return canvas.end();
}

Json held_data(const ReplayPicture& picture, const std::string& id) {
  Json points = Json::array();
  for (const HeldPoint& point : picture.held)
    points.push_back({point.event, point.live_bytes, point.reserved_bytes});
  return {{"chart", id},    {"left", chart_left},       {"plot", width - chart_left - chart_right},
          {"width", width}, {"events", picture.events}, {"points", points}};
}

}  // namespace headroom::report
