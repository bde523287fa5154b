// SPDX-License-Identifier: Apache-2.0
#include "report/plan_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/bytes.h"
#include "base/document.h"
#include "base/text.h"
#include "base/version.h"
#include "report/html.h"
#include "report/page_files.h"
#include "report/plan_text.h"
#include "report/plan_words.h"
#include "report/timeline_svg.h"

namespace headroom::report {
namespace {

using estimate::Plan;
using estimate::TensorRecord;
using estimate::Timeline;
using estimate::TimelinePoint;

constexpr double small_width = 480;
constexpr double small_height = 220;

std::string human(std::uint64_t bytes) {
  return to_string(Bytes{bytes});
}

std::string share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? ""
                    : fmt::format("{:.1f} %",
                                  100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string cell(std::string_view text) {
  return fmt::format("<td class=\"number\">{}</td>", text);
}

class Page {
 public:
  explicit Page(const PlanPicture& picture)
      : picture_(picture), plan_(picture.plan), model_(picture.model) {}

  std::string run() {
    add_head();
    add_verdict();
    add_step();
    add_tables();
    add_candidates();
    add_reading_aid();
    add("<script>\n{}</script>\n</body>\n</html>\n", plan_page_js);
    return std::move(html_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(html_), format, std::forward<Args>(args)...);
  }

  std::string name() const { return plan_.job.model.name ? *plan_.job.model.name : model_.family; }

  void add_head() {
    html_ += page_head(fmt::format("{}: {}", name(), human(plan_.device_bytes)), {plan_page_css});
  }

  void add_verdict() {
    const auto& [method, compute] = std::tie(plan_.job.method, plan_.job.compute);
    const bool liger = compute.liger.on && method.kind != estimate::MethodKind::inference;
    std::string_view kind = "open";
    std::string verdict = "The job gives no capacity, so headroom cannot say whether it fits.";
    const std::string device = human(plan_.device_bytes);
    if (plan_.fits) {
      kind = *plan_.fits ? "fits" : "fails";
      verdict = *plan_.fits
                    ? fmt::format("It fits: {} of {}.", device, human(*plan_.capacity_bytes))
                    : fmt::format("It does not fit: it needs {}, and the device has {}.", device,
                                  human(*plan_.capacity_bytes));
    }
    add("<h1>How much memory {} takes</h1>\n<p class=\"faint\">{}, {} layers of width {}; {}{}, "
        "weights in {}, "
        "computed in {}; {}; {} attention, checkpointing {}{}; engine {}"
        "</p>\n<p class=\"verdict {}\">{}</p>\n",
        escape_html(name()), escape_html(model_.family), model_.main().layers, model_.main().hidden,
        trainer_of(plan_), method_of(plan_), to_string(method.base), to_string(compute.dtype),
        batch_of(plan_, model_), compute.attention ? to_string(*compute.attention) : "any",
        to_string(compute.checkpointing), liger ? ", Liger's kernels" : "",
        to_string(plan_.job.engine.kind), kind, verdict);
    if (plan_.first_failure)
      add("<p>The first tensor that does not fit: {} ({}).</p>\n",
          escape_html(plan_.first_failure->name), human(plan_.first_failure->meta.bytes()));
  }

  void add_chart(const Chart& chart) {
    add("<div class=\"scroll\">\n{}</div>\n", to_svg(chart));
    add("<p class=\"readout\" id=\"{0}-readout\" aria-live=\"polite\">Point at the picture{1} to "
        "see what is live then.</p>\n<script type=\"application/json\">{2}</script>\n",
        chart.id, chart.small ? "" : ", or move with the arrow keys,",
        to_script_json(hover_data(chart)));
  }

  void add_step() {
    const Chart chart{picture_.timeline, "step",
                      fmt::format("Memory during one step of {}", name()), plan_.capacity_bytes,
                      plan_.context_bytes};
    add("<h2>One step</h2>\n<figure>\n");
    add_chart(chart);
    add("<figcaption>From left to right, every allocation and every release in order (not in "
        "seconds): {} in all, first loading, then one step. The line above the areas shows what "
        "the allocator "
        "{} holds{}{}</figcaption>\n</figure>\n",
        picture_.timeline.events, escape_html(plan_.job.device.allocator),
        plan_.context_bytes > 0 ? "; the grey band below is the driver's context" : "",
        gap() ? ". The earlier steps are left out at the thick dashed line." : ".");
  }

  bool gap() const {
    const auto& phases = picture_.timeline.phases;
    return std::any_of(phases.begin(), phases.end(),
                       [](const auto& span) { return span.after_gap; });
  }

  void add_tables() {
    add("<div class=\"columns\">\n<section>\n<h2>At the peak, in the {} phase</h2>\n",
        to_string(plan_.at));
    html_ += "<div class=\"scroll\">";
    add_components();
    html_ += "</div></section>\n<section>\n<h2>The largest tensors of that moment</h2>\n";
    add_largest();
    html_ += "</section>\n</div>\n<h2>The highest moment of each phase</h2>\n";
    add_phases();
  }

  static std::string key_of(std::string_view component) {
    return colour_key(fmt::format("component-{}", component));
  }

  // The legend as well: each row with its colour, and a cell that follows the pointer.
  void add_components() {
    html_ +=
        "<table>\n<thead><tr><th scope=\"col\">component</th><th scope=\"col\" "
        "class=\"number\">bytes</th><th scope=\"col\" class=\"number\">size</th><th scope=\"col\" "
        "class=\"number\">share</th><th scope=\"col\" class=\"number\">where you point</th></tr>"
        "</thead>\n<tbody>\n";
    for (std::size_t i = 0; i < allocator::component_count; ++i) {
      const auto component = allocator::all_components.at(i);
      const std::uint64_t bytes = plan_.components[component];
      add("<tr><th scope=\"row\" class=\"keyed\">{}{}</th>{}{}{}<td class=\"number\" "
          "data-live-in=\"step\" "
          "data-component=\"{}\"></td></tr>\n",
          key_of(to_string(component)), to_string(component), cell(std::to_string(bytes)),
          cell(human(bytes)), cell(share(bytes, plan_.allocated_bytes)), i);
    }
    const auto total = [this](const std::string& what, std::uint64_t bytes) {
      add("<tr><th scope=\"row\">{}</th>{}{}<td></td><td></td></tr>\n", escape_html(what),
          cell(std::to_string(bytes)), cell(human(bytes)));
    };
    total("allocated", plan_.allocated_bytes);
    total("reserved by allocator " + plan_.job.device.allocator, plan_.reserved_bytes);
    total("on the device, with the context", plan_.device_bytes);
    if (plan_.capacity_bytes) total("capacity of the device", *plan_.capacity_bytes);
    html_ += "</tbody>\n</table>\n";
  }

  void add_largest() {
    html_ +=
        "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">tensor</th><th "
        "scope=\"col\">shape</th><th scope=\"col\" class=\"number\">size</th></tr></thead>\n"
        "<tbody>\n";
    for (const TensorRecord& tensor : plan_.largest) {
      std::vector<std::string> sizes;
      for (const auto size : tensor.meta.shape) sizes.push_back(std::to_string(size));
      add("<tr><td class=\"name keyed\">{}{}</td><td>{} {}</td>{}</tr>\n",
          key_of(to_string(tensor.component)), escape_html(tensor.name), join(sizes, " × "),
          to_string(tensor.meta.element), cell(human(tensor.meta.bytes())));
    }
    html_ += "</tbody>\n</table></div>\n";
  }

  // The picture in numbers, for those who do not see it.
  void add_phases() {
    html_ +=
        "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">phase</th><th "
        "scope=\"col\">when this was allocated</th><th scope=\"col\" class=\"number\">live</th>"
        "<th scope=\"col\" class=\"number\">reserved</th>";
    for (const auto component : allocator::all_components)
      add("<th scope=\"col\" class=\"number\">{}</th>", to_string(component));
    html_ += "</tr></thead>\n<tbody>\n";
    for (const estimate::PhaseSpan& span : picture_.timeline.phases) add_phase(span);
    html_ += "</tbody>\n</table></div>\n";
  }

  void add_phase(const estimate::PhaseSpan& span) {
    const TimelinePoint* highest = nullptr;
    for (const TimelinePoint& point : picture_.timeline.points) {
      const bool within = point.event >= span.begin && point.event < span.end;
      if (within && (highest == nullptr || point.live_bytes > highest->live_bytes))
        highest = &point;
    }
    if (highest == nullptr) return;
    add("<tr><th scope=\"row\">{}</th><td class=\"name long\">{}</td>{}{}", to_string(span.phase),
        escape_html(highest->tensor), cell(human(highest->live_bytes)),
        cell(human(highest->reserved_bytes)));
    for (const auto component : allocator::all_components)
      html_ += cell(human(highest->live[component]));
    html_ += "</tr>\n";
  }

  void add_candidates() {
    if (picture_.candidates.empty()) return;
    html_ += "<h2>What would fit, fastest first</h2>\n<div class=\"candidates\">\n";
    for (std::size_t i = 0; i < picture_.candidates.size() && i < plan_.advice.size(); ++i)
      add_candidate(plan_.advice[i], picture_.candidates[i], i);
    html_ += "</div>\n";
  }

  void add_candidate(const estimate::Advice& advice, const Timeline& timeline, std::size_t number) {
    const std::string change = to_text(advice.change);
    add("<section class=\"candidate\">\n<h3>{}</h3>\n<p>{} allocated, {} on the device, {:.0f} % "
        "of the speed (calculated)</p>\n",
        escape_html(change), human(advice.allocated_bytes), human(advice.device_bytes),
        100.0 * advice.relative_speed);
    Chart chart{timeline, fmt::format("candidate-{}", number + 1),
                "Memory during one step with " + change, plan_.capacity_bytes, plan_.context_bytes};
    chart.width = small_width;
    chart.height = small_height;
    chart.small = true;
    add_chart(chart);
    html_ += "</section>\n";
  }

  void add_reading_aid() {
    add("<h2>What the numbers mean</h2>\n<p>Live is what tensors take, as "
        "torch.cuda.max_memory_allocated() counts it. Reserved is what the allocator has taken "
        "from the device, for live tensors and to use again. On the device the driver's context is "
        "added to it. A long step is simplified: for each strip of the picture the highest and the "
        "lowest moment are drawn, so that no peak is lost.</p>\n<footer>headroom {}</footer>\n",
        program_version());
  }

  const PlanPicture& picture_;
  const Plan& plan_;
  const estimate::Architecture& model_;
  std::string html_;
};

}  // namespace

std::string to_html(const PlanPicture& picture) {
  return Page(picture).run();
}

}  // namespace headroom::report
