// SPDX-License-Identifier: Apache-2.0
#include "report/run_page_settings.h"

#include <fmt/format.h>

#include <vector>

#include "base/bytes.h"
#include "base/document.h"
#include "base/json_text.h"
#include "base/text.h"
#include "report/html.h"
#include "report/json_values.h"

namespace headroom::report {
namespace {

constexpr std::size_t most_rows = 64;       // As many combinations as "auto" may try, and more.
constexpr std::size_t longest_value = 400;  // Of a setting, in characters.
constexpr double equally_fast = 0.98;       // Nearer than this the order of kinds decides.

std::string human(std::uint64_t bytes) {
  return to_string(Bytes{bytes});
}

// Why the first one was taken, or why another one was not.
std::string reason_of(const Json& tried, const Json& report, bool is_chosen) {
  const Json* fits = find_value(tried, "/fits");
  if (fits == nullptr || !fits->is_boolean())
    return is_chosen ? "no capacity is known: the first of each list" : "no capacity is known";
  const double speed = find_number(tried, "/relative_speed").value_or(0);
  if (!fits->get<bool>()) {
    const auto capacity = find_count(report, "/measured/capacity_bytes");
    return fmt::format("{}{}", is_chosen ? "nothing fits; this needs least" : "does not fit",
                       capacity ? " within " + human(*capacity) : "");
  }
  if (is_chosen) return "the fastest that fits";
  if (speed >= equally_fast) return "fits and is about as fast: the chosen one goes first";
  return fmt::format("fits, but is slower: {:.0f} % of the speed", 100 * speed);
}

std::string row_of(const Json& tried, const Json& report, bool is_chosen) {
  std::string row = fmt::format("<tr><th scope=\"row\" class=\"{}\">{}</th>",
                                is_chosen ? "yes" : "no", is_chosen ? "taken" : "not taken");
  for (const char* key : {"/dtype", "/attention", "/loss", "/checkpointing"})
    row += fmt::format("<td>{}</td>", escape_html(find_text(tried, key)));
  for (const char* key : {"/micro", "/accumulate"}) {
    const auto count = find_count(tried, key);
    row += fmt::format("<td class=\"number\">{}</td>", count ? std::to_string(*count) : "");
  }
  const auto bytes = find_count(tried, "/device_bytes");
  return row + fmt::format("<td class=\"number\">{}</td><td>{}</td></tr>\n",
                           bytes ? human(*bytes) : "", reason_of(tried, report, is_chosen));
}

std::string value_text(const Json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : to_json_text(value);
  if (text.size() > longest_value) text = text.substr(0, longest_value) + " …";
  return text;
}

}  // namespace

std::string automatic_table(const Json& report) {
  const Json* chosen = find_value(report, "/automatic/chosen");
  if (chosen == nullptr) return "";
  std::vector<std::string> keys;
  for (const Json& key : find_list(report, "/automatic/keys"))
    if (key.is_string()) keys.push_back(key.get<std::string>());
  std::string table = fmt::format(
      "<p>The job left open: {}. Every combination was planned; speeds are on paper.</p>\n"
      "<table>\n<thead><tr><td></td>",
      escape_html(join(keys, ", ")));
  for (const char* name : {"dtype", "attention", "loss", "checkpointing"})
    table += fmt::format("<th scope=\"col\">{}</th>", name);
  table +=
      "<th scope=\"col\" class=\"number\">micro</th><th scope=\"col\" "
      "class=\"number\">accumulate</th><th scope=\"col\" class=\"number\">planned</th><th "
      "scope=\"col\">why</th></tr></thead>\n<tbody>\n";
  table += row_of(*chosen, report, true);
  std::size_t rows = 0;
  for (const Json& other : find_list(report, "/automatic/rejected"))
    if (rows++ < most_rows) table += row_of(other, report, false);
  return table + "</tbody>\n</table>\n";
}

std::string settings_table(const Json& report) {
  const Json* settings = find_value(report, "/settings");
  if (settings == nullptr || !settings->is_object() || settings->empty()) return "";
  std::string table =
      "<table>\n<thead><tr><th scope=\"col\">setting</th><th "
      "scope=\"col\">value</th></tr></thead>\n<tbody>\n";
  std::size_t rows = 0;
  for (const auto& [name, value] : settings->items()) {
    if (rows++ == most_rows) break;
    table += fmt::format("<tr><th scope=\"row\">{}</th><td class=\"name\">{}</td></tr>\n",
                         escape_html(name), escape_html(value_text(value)));
  }
  return table + "</tbody>\n</table>\n";
}

std::string unknowns_list(const Json& report) {
  const Json* missing = find_value(report, "/missing");
  if (missing == nullptr || !missing->is_object() || missing->empty()) return "";
  std::string list = "<details>\n<summary>What is not known, and why</summary>\n<ul>\n";
  std::size_t rows = 0;
  for (const auto& [name, reason] : missing->items()) {
    if (rows++ == most_rows) break;
    list += fmt::format("<li>{}: {}</li>\n", escape_html(name), escape_html(value_text(reason)));
  }
  return list + "</ul>\n</details>\n";
}

}  // namespace headroom::report
