// SPDX-License-Identifier: Apache-2.0
// headroom top: how full and how busy the GPUs are, and who holds their memory, drawn anew every
// two seconds.
#include <algorithm>
#include <memory>

#include "base/document.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/machine_watch.h"
#include "cli/number_between.h"
#include "machine/clock.h"
#include "machine/terminal.h"
#include "report/check_json.h"
#include "report/live_json.h"
#include "report/top_text.h"
#include "screen/screen.h"

namespace headroom::cli {
namespace {

using screen::Key;

struct TopOptions {
  std::string root = "/";
  double interval_s = 2;
  bool once = false;
  bool json = false;
};

int print_once(const TopOptions& options, MachineWatch& watch, const Context& context) {
  auto moment = watch.look();
  // How busy each process keeps a GPU shows between two looks only; a captured machine stands
  // still.
  if (moment && options.root == "/" && !moment->facts.gpus.empty()) {
    machine::sleep_ms(500);
    moment = watch.look();
  }
  if (!moment) return print_error(context, moment.error(), exit_could_not_look);
  if (options.json) {
    context.printer.print_json_text(report::to_text(report::live_json(*moment)));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(report::fit(report::top_text(*moment, style, 0), style.width));
  }
  return exit_ok;
}

// The screen, with what fits of it and how far it was scrolled.
class View {
 public:
  explicit View(screen::Screen& screen) : screen_(screen) {}

  void show(const live::Moment& moment) {
    const report::Style style{machine::stdout_shows_colour(),
                              std::max<std::size_t>(screen_.width(), 20)};
    all_ = printable_page(report::top_text(moment, style, 0));
    // Who scrolls wants to see all of it.
    screen_.show(top_ > 0 ? all_ : printable_page(report::top_text(moment, style, screen_.rows())),
                 top_);
  }
  // False: it is over.
  bool react(Key key) {
    const auto page = static_cast<std::ptrdiff_t>(screen_.rows());
    switch (key) {
      case Key::quit:
        return false;
      case Key::up:
        move(-1);
        break;
      case Key::down:
        move(1);
        break;
      case Key::page_up:
        move(-page);
        break;
      case Key::page_down:
        move(page);
        break;
      case Key::home:
        top_ = 0;
        break;
      case Key::end:
        move(static_cast<std::ptrdiff_t>(split_lines(all_).size()));
        break;
      case Key::none:
      case Key::resized:
      case Key::other:
        break;
    }
    return true;
  }

 private:
  // The last line stays at the bottom.
  void move(std::ptrdiff_t lines) {
    const std::size_t all = split_lines(all_).size();
    const std::size_t rows = screen_.rows();
    const auto furthest = static_cast<std::ptrdiff_t>(all > rows ? all - rows : 0);
    top_ = static_cast<std::size_t>(
        std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(top_) + lines, 0, furthest));
  }

  screen::Screen& screen_;
  std::string all_;
  std::size_t top_ = 0;
};

// What ended it, to be said once the terminal is given back.
std::optional<Error> watch_on(const TopOptions& options, MachineWatch& watch,
                              screen::Screen& screen) {
  const auto interval = static_cast<std::uint64_t>(options.interval_s * 1e9);
  View view(screen);
  while (true) {
    const std::uint64_t next = machine::monotonic_ns() + interval;
    const auto moment = watch.look();
    if (!moment) return moment.error();
    view.show(*moment);
    for (std::uint64_t now = machine::monotonic_ns(); now < next; now = machine::monotonic_ns()) {
      const auto left = std::chrono::milliseconds((next - now) / 1'000'000 + 1);
      const Key key = screen.wait(left);
      if (!view.react(key)) return std::nullopt;
      if (key != Key::none) view.show(*moment);
    }
  }
}

int run_top(const TopOptions& options, const Context& context) {
  auto watch = MachineWatch::open(options.root, context);
  if (!watch) return print_error(context, watch.error(), exit_could_not_look);
  if (options.once || options.json) return print_once(options, **watch, context);
  auto screen = screen::Screen::open();
  if (!screen) return print_once(options, **watch, context);
  const auto problem = watch_on(options, **watch, **screen);
  screen->reset();
  return problem ? print_error(context, *problem, exit_could_not_look) : int{exit_ok};
}

}  // namespace

void add_top(CLI::App& app, Context& context) {
  auto options = std::make_shared<TopOptions>();
  CLI::App* command = app.add_subcommand(
      "top", "Watch how full and how busy the GPUs are, and who holds their memory");
  command
      ->add_option("--interval", options->interval_s,
                   "How often to look, in seconds, 0.5 to 3600 (default: 2)")
      ->type_name("SECONDS")
      ->check(number_between(0.5, 3600, "seconds"));
  command->add_flag("--once", options->once,
                    "Print it once and end, as where standard output is no terminal");
  command->add_option("--root", options->root, "A captured machine, as for headroom check --root")
      ->type_name("PATH");
  command->add_flag("--json", options->json, "Print it once, as JSON (headroom.live/1)");
  command->footer(
      "q ends it; the arrows and Page Down scroll. A GPU that sleeps is not woken.\n\n"
      "Exit: 0, 2 wrong usage, 3 could not look.\n\n"
      "Examples:\n"
      "  headroom top\n"
      "  headroom top --once --json    for a script");
  command->callback([options, &context] { context.exit_code = run_top(*options, context); });
}

}  // namespace headroom::cli
