// SPDX-License-Identifier: Apache-2.0
#include "report/run_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/bytes.h"
#include "base/document.h"
#include "base/version.h"
#include "report/html.h"
#include "report/json_values.h"
#include "report/page_files.h"
#include "report/run_page_memory.h"
#include "report/run_page_settings.h"
#include "report/series_svg.h"

namespace headroom::report {
namespace {

constexpr std::size_t table_rows = 25;
constexpr std::size_t most_events = 100;  // Out of memory; each halves the batch.

std::string human(std::uint64_t bytes) {
  return to_string(Bytes{bytes});
}

std::string seconds_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::clamp(seconds, 0.0, 1e12));
  if (whole >= 3600) return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{:.1f} s", std::max(seconds, 0.0));
}

class Page {
 public:
  explicit Page(const RunPicture& picture)
      : picture_(picture), report_(picture.report), history_(picture.history) {}

  std::string run() {
    html_ = page_head("Training of " + picture_.name, {plan_page_css, run_page_css});
    add_verdict();
    add_facts();
    add_loss();
    add_memory();
    add_speed();
    add_part("What happened on the way", events());
    add_part("Ranks", rank_table(report_));
    add_part("Settings that were chosen", automatic_table(report_));
    add_part("Settings", settings_table(report_));
    html_ += unknowns_list(report_);
    add("<footer>headroom {}; the numbers are in report.json and metrics.jsonl beside this "
        "page</footer>\n<script>\n{}</script>\n</body>\n</html>\n",
        program_version(), run_page_js);
    return std::move(html_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(html_), format, std::forward<Args>(args)...);
  }

  void add_part(std::string_view title, const std::string& part) {
    if (part.empty()) return;
    add("<h2>{}</h2>\n<div class=\"scroll\">{}</div>\n", title, part);
  }

  void add_verdict() {
    const bool is_finished = picture_.ended.empty();
    const auto steps = find_count(report_, "/steps").value_or(0);
    const std::string what = find_text(report_, "/settings/method");
    add("<h1>Training of {}</h1>\n<p class=\"faint\">{}, {} attention, computed in {}, within "
        "{}</p>\n<p class=\"verdict {}\">{}</p>\n",
        escape_html(picture_.name), escape_html(what),
        escape_html(find_text(report_, "/settings/attention")),
        escape_html(find_text(report_, "/settings/dtype")), capacity_text(),
        is_finished ? "fits" : "fails",
        is_finished ? fmt::format("Finished after {} steps.", steps)
                    : fmt::format("Ended early, after {} steps.", steps));
    if (is_finished) return;
    add("<p class=\"message\">{}</p>\n", escape_html(picture_.ended));
    if (!picture_.next.empty()) add("<p>Next: {}</p>\n", escape_html(picture_.next));
  }

  std::string capacity_text() const {
    const auto capacity = find_count(report_, "/measured/capacity_bytes");
    return capacity ? human(*capacity) : "no cap";
  }

  void add_fact(std::string_view name, const std::string& value) {
    if (!value.empty())
      add("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", name, escape_html(value));
  }

  std::string loss_text() const {
    if (history_.loss.empty()) return "";
    return fmt::format("{} in the first step, {} in the last",
                       to_text(history_.loss.pieces().front().mean(), Amount::number),
                       to_text(history_.loss.latest(), Amount::number));
  }

  std::string best_text() const {
    const auto best = find_number(report_, "/evaluation/best_loss");
    if (!best) return "";
    return fmt::format("{}, after step {}", to_text(*best, Amount::number),
                       find_count(report_, "/evaluation/best_step").value_or(0));
  }

  std::string peak_text() const {
    const auto ran = find_count(report_, "/measured/allocated_bytes");
    const auto planned = planned_peak(report_);
    if (!ran) return "";
    return planned ? fmt::format("{}, planned {}", human(*ran), human(*planned)) : human(*ran);
  }

  void add_facts() {
    html_ += "<div class=\"scroll\"><table>\n<tbody>\n";
    add_fact("loss", loss_text());
    add_fact("best loss on the evaluation data", best_text());
    add_fact("peak of live memory", peak_text());
    if (history_.last_step > 0) {
      add_fact("tokens", std::to_string(history_.tokens));
      add_fact("time in training", seconds_text(history_.trained_s));
    }
    if (const auto rate = find_number(report_, "/tokens_per_s"); rate && *rate > 0)
      add_fact("tokens per second", fmt::format("{:.0f}", *rate));
    html_ += "</tbody>\n</table></div>\n";
  }

  std::vector<StepMark> marks() const {
    std::vector<StepMark> all;
    for (const std::uint64_t step : picture_.checkpoints.steps())
      all.push_back({step, "checkpoint", fmt::format("checkpoint after step {}", step)});
    for (const std::uint64_t step : history_.resumed.steps())
      all.push_back({step, "resumed", fmt::format("resumed before step {}", step)});
    for (const Json& event : find_list(report_, "/oom_events")) {
      if (all.size() >= 2 * StepMarks::most + most_events) break;
      all.push_back({find_count(event, "/step").value_or(0), "oom", oom_text(event)});
    }
    return all;
  }

  static std::string outcome_of(const Json& event) {
    const auto samples = find_count(event, "/done_again_with");
    return samples ? fmt::format("done again with {} samples at once", *samples) : "the run ended";
  }

  static std::string oom_text(const Json& event) {
    return fmt::format("step {}: out of memory; {}", find_count(event, "/step").value_or(0),
                       outcome_of(event));
  }

  void add_chart(const SeriesChart& chart, std::string_view caption) {
    add("<figure>\n<div class=\"scroll\">\n{}</div>\n<p class=\"readout\" id=\"{}-readout\" "
        "aria-live=\"polite\">Point at the picture, or move with the arrow keys, to see the "
        "values.</p>\n<script type=\"application/json\">{}</script>\n<figcaption>{} {}"
        "</figcaption>\n</figure>\n<details>\n<summary>{} as a table</summary>\n"
        "<div class=\"scroll\">{}</div>\n</details>\n",
        to_svg(chart), chart.id, to_script_json(hover_data(chart)), legend(chart), caption,
        escape_html(chart.title), to_table(chart, table_rows));
  }

  static std::string legend(const SeriesChart& chart) {
    std::string keys;
    const auto add_key = [&](const std::string& kind, std::string_view name) {
      keys +=
          fmt::format("<span class=\"named\">{}{}</span>\n", colour_key("swatch-" + kind), name);
    };
    for (const Series& series : chart.series)
      if (!series.curve.empty()) add_key(series.kind, series.name);
    for (const auto& [kind, name] : {std::pair{"oom", "out of memory"},
                                     {"resumed", "resumed"},
                                     {"checkpoint", "checkpoint"}}) {
      if (std::any_of(chart.marks.begin(), chart.marks.end(),
                      [&kind = kind](const StepMark& mark) { return mark.kind == kind; }))
        add_key(kind, name);
    }
    return keys;
  }

  static std::string thinned_note(const ThinnedCurve& curve) {
    if (curve.empty() || curve.pieces().front().count == 1) return "";
    return fmt::format(
        " Of {} steps each, the line shows the mean, and the band behind it goes "
        "from the lowest to the highest.",
        curve.pieces().front().count);
  }

  void add_loss() {
    html_ += "<h2>Loss</h2>\n";
    if (history_.loss.empty()) {
      html_ += "<p>No step was finished.</p>\n";
      return;
    }
    SeriesChart chart{.id = "loss",
                      .title = "Loss over the steps",
                      .last_step = history_.last_step,
                      .series = {{"training", "train", history_.loss}},
                      .marks = marks()};
    if (!history_.evaluation_loss.empty())
      chart.series.push_back({"last evaluation", "evaluation", history_.evaluation_loss});
    add_chart(chart, "The mean loss of a token, in nats, over the optimizer steps." +
                         thinned_note(history_.loss));
  }

  void add_memory() {
    html_ += "<h2>Memory</h2>\n";
    if (!history_.live_peak_bytes.empty()) {
      SeriesChart chart{.id = "memory",
                        .title = "Memory over the steps",
                        .amount = Amount::bytes,
                        .last_step = history_.last_step,
                        .series = {{"live", "live", history_.live_peak_bytes},
                                   {"reserved", "reserved", history_.reserved_peak_bytes}},
                        .marks = marks(),
                        .from_zero = true};
      if (const auto planned = planned_peak(report_))
        chart.levels.push_back({"plan", "planned", static_cast<double>(*planned)});
      if (const auto capacity = find_count(report_, "/measured/capacity_bytes"))
        chart.levels.push_back({"cap", "capacity", static_cast<double>(*capacity)});
      add_chart(chart,
                "The highest so far of what tensors take (live), and of what the allocator "
                "holds for them (reserved). Where a run is resumed, both begin anew.");
    }
    if (const std::string bars = component_bars(report_); !bars.empty())
      add("<figure>\n<div class=\"scroll\">\n{}</div>\n<figcaption>Memory at the peak, by "
          "component.</figcaption>\n</figure>\n",
          bars);
    const std::string table = component_table(report_);
    if (!table.empty()) add("<div class=\"scroll\">{}</div>\n", table);
    if (find_value(report_, "/measured") == nullptr)
      html_ += "<p>Memory was libtorch's own, which nobody counts.</p>\n";
  }

  void add_speed() {
    if (history_.tokens_per_s.empty()) return;
    html_ += "<h2>Speed</h2>\n";
    const SeriesChart chart{.id = "speed",
                            .title = "Tokens per second over the steps",
                            .last_step = history_.last_step,
                            .series = {{"tokens per second", "speed", history_.tokens_per_s}},
                            .marks = marks(),
                            .from_zero = true};
    add_chart(chart, "Tokens of a step by its seconds, padding not counted." +
                         thinned_note(history_.tokens_per_s));
  }

  std::string events() const {
    std::string list;
    const auto add_item = [&](const std::string& text) { list += "<li>" + text + "</li>\n"; };
    const std::uint64_t resumed = history_.resumed.count();
    if (resumed > 0)
      add_item(fmt::format("Resumed {}: before step {}.",
                           resumed == 1 ? "once" : fmt::format("{} times", resumed),
                           steps_list(history_.resumed)));
    if (const std::uint64_t written = picture_.checkpoints.count(); written > 0)
      add_item(fmt::format("{} checkpoint{} by this process: after step {}.", written,
                           written == 1 ? "" : "s", steps_list(picture_.checkpoints)));
    if (history_.best.count() > 0)
      add_item(fmt::format("The evaluation was the best so far after step {}.",
                           steps_list(history_.best)));
    const Json& problems = find_list(report_, "/oom_events");
    for (std::size_t i = 0; i < problems.size() && i < most_events; ++i) {
      const Json& event = problems[i];
      add_item(fmt::format(
          "{}.<details>\n<summary>What was live then</summary>\n<p class=\"message\">{}</p>\n"
          "</details>",
          capitalised(oom_text(event)), escape_html(find_text(event, "/message"))));
    }
    if (problems.size() > most_events)
      add_item(fmt::format("{} more are in report.json.", problems.size() - most_events));
    if (history_.passed_over > 0)
      add_item(
          fmt::format("{} lines of metrics.jsonl were cut short or of something else, and are "
                      "passed over.",
                      history_.passed_over));
    return list.empty() ? "" : "<ul>\n" + list + "</ul>\n";
  }

  static std::string capitalised(std::string text) {
    if (text.starts_with('s')) text.front() = 'S';
    return text;
  }

  // "3, 9, 12 and 40 others".
  static std::string steps_list(const StepMarks& marks) {
    constexpr std::size_t shown = 12;
    std::string text;
    std::size_t named = 0;
    for (const std::uint64_t step : marks.steps()) {
      if (named == shown) break;
      text += fmt::format("{}{}", named == 0 ? "" : ", ", step);
      ++named;
    }
    return marks.count() > named ? fmt::format("{} and {} others", text, marks.count() - named)
                                 : text;
  }

  const RunPicture& picture_;
  const Json& report_;
  const RunHistory& history_;
  std::string html_;
};

}  // namespace

std::string to_html(const RunPicture& picture) {
  return Page(picture).run();
}

}  // namespace headroom::report
