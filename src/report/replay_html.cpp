// SPDX-License-Identifier: Apache-2.0
#include "report/replay_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/bytes.h"
#include "base/document.h"
#include "base/require.h"
#include "base/text.h"
#include "base/version.h"
#include "report/html.h"
#include "report/page_files.h"
#include "report/replay_svg.h"

namespace headroom::report {
namespace {

constexpr std::size_t unfolded = std::numeric_limits<std::size_t>::max();

std::string human(std::uint64_t bytes) {
  return to_string(Bytes{bytes});
}

std::string percent_above(std::uint64_t bytes, std::uint64_t base) {
  if (base == 0) return "";
  return fmt::format("{:+.1f} %",
                     (static_cast<double>(bytes) / static_cast<double>(base) - 1) * 100);
}

class Page {
 public:
  Page(const TraceFacts& trace, const std::optional<SnapshotFacts>& snapshot,
       const std::vector<ReplayPicture>& pictures)
      : trace_(trace), snapshot_(snapshot), pictures_(pictures) {}

  std::string run() {
    add_head();
    add_verdict();
    add_table();
    for (std::size_t i = 0; i < pictures_.size(); ++i) add_policy(pictures_[i], i);
    add_legend();
    add("<script>\n{}</script>\n</body>\n</html>\n", replay_page_js);
    return std::move(html_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(html_), format, std::forward<Args>(args)...);
  }

  std::string name() const { return trace_.name.substr(trace_.name.rfind('/') + 1); }

  void add_head() { html_ += page_head("Replay of " + name(), {plan_page_css, replay_page_css}); }

  void add_verdict() {
    const auto fails = [](const auto& picture) { return !picture.row.result.completed; };
    const auto failed = std::count_if(pictures_.begin(), pictures_.end(), fails);
    const auto first = std::find_if(pictures_.begin(), pictures_.end(), fails);
    const ReplayRow& telling = first == pictures_.end() ? pictures_.front().row : first->row;
    const bool is_unlimited = !telling.capacity_bytes && failed == 0;
    const std::string where =
        is_unlimited ? "with unlimited memory" : "in " + capacity_text(telling, "");
    std::string verdict = fmt::format("It fits {} under every policy asked for.", where);
    if (failed > 0)
      verdict = fmt::format("It does not fit {} under {} of {} policies.", where, failed,
                            pictures_.size());
    add("<h1>Replay of {}</h1>\n<p class=\"faint\">{} events, live peak {}</p>\n"
        "<p class=\"verdict {}\">{}</p>\n",
        escape_html(name()), trace_.events, human(trace_.peak_live_bytes),
        failed > 0 ? "fails" : "fits", verdict);
    if (!snapshot_) return;
    const std::string words = introduce(name(), *snapshot_, unfolded);
    for (const std::string_view line : split_lines(words))
      if (!line.empty()) add("<p class=\"snapshot\">{}</p>\n", escape_html(line));
  }

  void add_table() {
    html_ +=
        "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">policy</th><th "
        "scope=\"col\">outcome</th><th scope=\"col\" class=\"number\">reserved</th><th "
        "scope=\"col\" class=\"number\">over live</th><th scope=\"col\" class=\"number\">device "
        "calls</th></tr></thead>\n<tbody>\n";
    for (const ReplayPicture& picture : pictures_) {
      const allocator::ReplayResult& result = picture.row.result;
      const std::string outcome =
          result.completed ? "completed" : fmt::format("out of memory at {}", *result.failed_at);
      add("<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"number\">{}</td><td "
          "class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
          escape_html(picture.row.policy), outcome, human(result.usage.reserved_peak_bytes),
          percent_above(result.usage.reserved_peak_bytes, trace_.peak_live_bytes),
          result.usage.device_calls);
    }
    html_ += "</tbody>\n</table></div>\n";
  }

  void add_policy(const ReplayPicture& picture, std::size_t number) {
    const std::string held = fmt::format("held-{}", number + 1);
    const std::string addresses = fmt::format("addresses-{}", number + 1);
    add("<h2>{}</h2>\n<figure>\n<div class=\"scroll\">\n{}</div>\n<p class=\"readout\" "
        "id=\"{}-readout\" "
        "aria-live=\"polite\">Point at the picture to see what is held then.</p>\n"
        "<script type=\"application/json\">{}</script>\n<figcaption>From left to right every "
        "event, "
        "in order. The area is what is live. The line above it is what the policy holds of the "
        "device.</figcaption>\n</figure>\n",
        escape_html(picture.row.policy), held_svg(picture, held), held,
        to_script_json(held_data(picture, held)));
    add("<figure>\n<div class=\"scroll\">\n{}</div>\n<figcaption>The addresses, upwards: every "
        "rectangle is a block, from the "
        "event "
        "that made it to the one that freed it. Units of 2 MiB in which there never was a block "
        "are "
        "left out; {} remain.{}</figcaption>\n</figure>\n",
        address_svg(picture, addresses), human(picture.address_bytes), left_out(picture));
  }

  static std::string left_out(const ReplayPicture& picture) {
    const std::uint64_t missing = picture.all_blocks - picture.blocks.size();
    if (missing == 0) return "";
    return fmt::format(
        " The {} blocks with the largest bytes × events are drawn; {} smaller or shorter ones are "
        "not.",
        picture.blocks.size(), missing);
  }

  void add_legend() {
    html_ += "<h2>Colours</h2>\n<p>";
    for (const allocator::Component component : allocator::all_components)
      add("<span class=\"named\">{}{}</span>\n",
          colour_key(fmt::format("component-{}", to_string(component))), to_string(component));
    add("</p>\n<footer>headroom {}</footer>\n", program_version());
  }

  const TraceFacts& trace_;
  const std::optional<SnapshotFacts>& snapshot_;
  const std::vector<ReplayPicture>& pictures_;
  std::string html_;
};

}  // namespace

std::string to_html(const TraceFacts& trace, const std::optional<SnapshotFacts>& snapshot,
                    const std::vector<ReplayPicture>& pictures) {
  require(!pictures.empty(), "a page has a picture at least");
  return Page(trace, snapshot, pictures).run();
}

}  // namespace headroom::report
