// SPDX-License-Identifier: Apache-2.0
#include "report/run_page_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "allocator/component.h"
#include "base/bytes.h"
#include "base/document.h"
#include "report/chart_axis.h"
#include "report/html.h"
#include "report/json_values.h"

namespace headroom::report {
namespace {

constexpr double width = 960;
constexpr double bar_height = 28;
constexpr double bar_distance = 40;
constexpr double names_width = 100;

std::string human(std::uint64_t bytes) {
  return to_string(Bytes{bytes});
}

std::string cell(std::optional<std::uint64_t> bytes) {
  return fmt::format("<td class=\"number\">{}</td>", bytes ? human(*bytes) : "");
}

std::string difference(std::optional<std::uint64_t> planned, std::optional<std::uint64_t> ran) {
  if (!planned || !ran || *ran == 0) return "<td></td>";
  const double off = static_cast<double>(*planned) / static_cast<double>(*ran) - 1;
  return fmt::format("<td class=\"number\">{:+.1f} %</td>", 100 * off);
}

// Where the components of the plan stand.
std::string planned_at(const Json& report) {
  return find_value(report, "/predicted/stages/0/components") != nullptr ? "/predicted/stages/0"
                                                                         : "/predicted";
}

std::uint64_t sum_of(const Json& report, const std::string& at) {
  std::uint64_t sum = 0;
  for (const auto component : allocator::all_components)
    sum += find_count(report, fmt::format("{}/{}", at, to_string(component))).value_or(0);
  return sum;
}

std::string bar(const Json& report, const std::string& at, double y, double unit) {
  std::string drawn;
  double x = names_width;
  for (const auto component : allocator::all_components) {
    const std::string_view name = to_string(component);
    const auto bytes = find_count(report, fmt::format("{}/{}", at, name)).value_or(0);
    if (bytes == 0) continue;
    const double wide = static_cast<double>(bytes) * unit;
    drawn += fmt::format(
        "<rect class=\"component-{0}\" x=\"{1:.1f}\" y=\"{2}\" width=\"{3:.1f}\" height=\"{4}\">"
        "<title>{0}: {5}</title></rect>\n",
        name, x, y, wide, bar_height, human(bytes));
    x += wide;
  }
  return drawn;
}

}  // namespace

std::optional<std::uint64_t> planned_peak(const Json& report) {
  return find_count(report, planned_at(report) + "/allocated_bytes");
}

std::string component_bars(const Json& report) {
  const std::string planned = planned_at(report) + "/components";
  const std::string measured = "/measured/components";
  const std::uint64_t most = std::max(sum_of(report, planned), sum_of(report, measured));
  if (most == 0) return "";
  const double unit = (width - names_width - chart_right) / static_cast<double>(most);
  std::string svg = fmt::format(
      "<svg id=\"components\" class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-labelledby=\"components-title components-desc\">\n<title "
      "id=\"components-title\">Memory at the peak by component</title>\n<desc "
      "id=\"components-desc\">Planned {}, measured {}. The table below has every "
      "component.</desc>\n",
      width, 2 * bar_distance, human(sum_of(report, planned)), human(sum_of(report, measured)));
  double y = 4;
  for (const auto& [name, at] : {std::pair{"planned", planned}, {"measured", measured}}) {
    svg += fmt::format("<text class=\"bar-name\" x=\"{}\" y=\"{}\">{}</text>\n", names_width - 8,
                       y + bar_height / 2 + 4, name);
    svg += bar(report, at, y, unit);
    y += bar_distance;
  }
  return svg + "</svg>\n";
}

std::string component_table(const Json& report) {
  const std::string planned = planned_at(report);
  if (find_value(report, planned + "/components") == nullptr &&
      find_value(report, "/measured/components") == nullptr)
    return "";
  std::string table =
      "<table>\n<thead><tr><th scope=\"col\">component</th><th scope=\"col\" "
      "class=\"number\">planned at the peak</th><th scope=\"col\" class=\"number\">measured at "
      "the peak</th><th scope=\"col\" class=\"number\">planned to measured</th><th scope=\"col\" "
      "class=\"number\">highest at any time</th></tr></thead>\n<tbody>\n";
  for (const auto component : allocator::all_components) {
    const std::string name(to_string(component));
    const auto plan = find_count(report, planned + "/components/" + name);
    const auto ran = find_count(report, "/measured/components/" + name);
    table += fmt::format("<tr><th scope=\"row\" class=\"keyed\">{}{}</th>{}{}{}{}</tr>\n",
                         colour_key("component-" + name), name, cell(plan), cell(ran),
                         difference(plan, ran),
                         cell(find_count(report, "/measured/component_peaks/" + name)));
  }
  for (const auto& [name, key] : {std::pair{"allocated", "/allocated_bytes"},
                                  {"reserved by the allocator", "/reserved_bytes"}}) {
    const auto plan = find_count(report, planned + key);
    const auto ran = find_count(report, std::string("/measured") + key);
    table += fmt::format("<tr><th scope=\"row\">{}</th>{}{}{}<td></td></tr>\n", name, cell(plan),
                         cell(ran), difference(plan, ran));
  }
  if (const auto capacity = find_count(report, "/measured/capacity_bytes"))
    table += fmt::format("<tr><th scope=\"row\">cap</th><td></td>{}<td></td><td></td></tr>\n",
                         cell(capacity));
  return table + "</tbody>\n</table>\n";
}

std::string rank_table(const Json& report) {
  const Json& ranks = find_list(report, "/ranks");
  if (ranks.empty()) return "";
  std::string table =
      "<table>\n<thead><tr><th scope=\"col\">rank</th><th scope=\"col\" "
      "class=\"number\">planned</th><th scope=\"col\" class=\"number\">allocated</th><th "
      "scope=\"col\" class=\"number\">planned to measured</th><th scope=\"col\" "
      "class=\"number\">reserved</th></tr></thead>\n<tbody>\n";
  for (const Json& one : ranks) {
    const auto number = find_count(one, "/rank").value_or(0);
    auto planned = find_count(report, fmt::format("/predicted/stages/{}/allocated_bytes", number));
    if (!planned) planned = find_count(report, "/predicted/allocated_bytes");
    const auto ran = find_count(one, "/allocated_bytes");
    table +=
        fmt::format("<tr><th scope=\"row\">{}</th>{}{}{}{}</tr>\n", number, cell(planned),
                    cell(ran), difference(planned, ran), cell(find_count(one, "/reserved_bytes")));
  }
  return table + "</tbody>\n</table>\n";
}

}  // namespace headroom::report
