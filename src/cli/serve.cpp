// SPDX-License-Identifier: Apache-2.0
// headroom serve: the machine as metrics for Prometheus and as a live page. Nothing on it acts.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/document.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "cli/machine_watch.h"
#include "cli/number_between.h"
#include "cli/refuse_outputs.h"
#include "findings/health.h"
#include "machine/clock.h"
#include "machine/output_files.h"
#include "machine/user_files.h"
#include "report/live_json.h"
#include "report/live_page.h"
#include "report/machine_summary.h"
#include "report/metrics_text.h"
#include "serve/http_server.h"
#include "serve/site.h"
#include "serve/ticker.h"

namespace headroom::cli {
namespace {

struct ServeOptions {
  std::string listen = "127.0.0.1:9873";
  std::string token_file;
  std::string text_file;
  std::string root = "/";
  double interval_s = 5;
  bool once = false;
};

machine::OutputFile text_file_of(const ServeOptions& options) {
  return {"--textfile", options.text_file};
}

// A pipe whose reader waits would keep each look waiting, and the end too.
std::optional<Error> refuse_stream(const ServeOptions& options) {
  if (options.text_file.empty()) return std::nullopt;
  const auto kind = machine::kind_of(options.text_file);
  if (!kind || *kind == EntryKind::file) return std::nullopt;
  return Error{
      Errc::invalid,
      fmt::format("--textfile {}: expected a file, found something else", options.text_file),
      "headroom serve --once   (prints it)"};
}

// Where each look goes.
class Publisher {
 public:
  Publisher(const ServeOptions& options, MachineWatch& watch, const Context& context)
      : options_(options), watch_(watch), context_(context) {}

  void publish_to(serve::Site& site, serve::HttpServer& server) {
    site_ = &site;
    server_ = &server;
  }

  // Fails where it could not look or not write.
  Status look() {
    ++counts_.looks;
    const auto moment = watch_.look();
    if (moment) {
      counts_.last_good = moment->since_1970;
    } else {
      ++counts_.failures;
    }
    const std::string metrics =
        moment ? report::metrics_text(*moment, counts_) : report::metrics_text(counts_);
    if (site_ != nullptr) show(moment, metrics);
    if (!options_.text_file.empty()) {
      HEADROOM_CHECK(machine::write_output(text_file_of(options_), metrics));
    } else if (site_ == nullptr) {
      context_.printer.print(metrics);
    }
    return moment ? Status(Done{}) : Status(moment.error());
  }

 private:
  void show(const Result<live::Moment>& moment, const std::string& metrics) const {
    serve::Pages pages;
    pages.metrics = metrics;
    pages.made = std::chrono::nanoseconds(machine::monotonic_ns());
    if (moment) {
      const auto live = report::live_json(*moment);
      pages.live_json = live.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
      pages.page = report::live_page(live, *moment);
      const findings::Verdict verdict = moment->diagnosis.verdict;
      pages.healthy = findings::health_of(verdict) == findings::Health::fine;
      pages.health =
          fmt::format("{}: {}", to_string(verdict),
                      printable(report::machine_summary(moment->facts, moment->diagnosis)));
    } else {
      pages.health = "unknown: " + printable(moment.error().message);
      pages.live_json =
          nlohmann::ordered_json{{"schema", "headroom.live/1"}, {"error", moment.error().message}}
              .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
      pages.page = report::live_page_error(moment.error().message);
    }
    const std::string event = serve::to_event(pages.live_json);
    site_->show(std::move(pages));
    server_->publish(event);
  }

  const ServeOptions& options_;
  MachineWatch& watch_;
  const Context& context_;
  report::LookCounts counts_;
  serve::Site* site_ = nullptr;
  serve::HttpServer* server_ = nullptr;
};

Result<std::optional<std::string>> read_token(const ServeOptions& options,
                                              const serve::Address& address) {
  if (options.token_file.empty()) {
    if (address.is_loopback()) return std::optional<std::string>();
    return Error{Errc::invalid,
                 fmt::format("--listen {}: expected a token, since others than this machine could "
                             "read the page; found none",
                             options.listen),
                 "headroom serve --listen " + options.listen + " --token-file FILE"};
  }
  HEADROOM_TRY(const std::string text, machine::read_file(options.token_file, 4096));
  auto token = serve::parse_token(text);
  if (!token) return std::move(token).error().in(options.token_file);
  return std::optional<std::string>(*std::move(token));
}

int serve_pages(const ServeOptions& options, const serve::Address& address,
                std::optional<std::string> token, Publisher& publisher, const Context& context) {
  const auto interval =
      std::chrono::milliseconds(static_cast<std::int64_t>(options.interval_s * 1e3));
  const bool has_token = token.has_value();
  serve::Site site(std::move(token), 3 * interval + std::chrono::seconds(30));
  auto server = serve::HttpServer::listen(address, [&site](const serve::Request& request) {
    return site.answer(request, std::chrono::nanoseconds(machine::monotonic_ns()));
  });
  if (!server) return print_error(context, server.error(), exit_could_not_look);
  publisher.publish_to(site, **server);
  context.printer.note(fmt::format("http://{}/{}   metrics: http://{}/metrics   ^C ends it",
                                   (*server)->address(), has_token ? "?token=TOKEN" : "",
                                   (*server)->address()));
  bool told = false;
  auto ticker = serve::Ticker::start(interval, [&publisher, &context, &told] {
    const Status done = publisher.look();
    // Once, and again after it has worked in between: a log is not for the same line every time.
    if (!done && !told) context.printer.tell(done.error());
    told = !done;
  });
  if (!ticker) return print_error(context, ticker.error(), exit_could_not_look);
  (*server)->run();
  return exit_ok;
}

int run_serve(const ServeOptions& options, const Context& context) {
  auto address = serve::parse_address(options.listen);
  if (!address) return print_error(context, std::move(address).error().in("--listen"), exit_usage);
  auto token = read_token(options, *address);
  if (!token) return print_error(context, token.error(), exit_usage);
  auto watch = MachineWatch::open(options.root, context);
  if (!watch) return print_error(context, watch.error(), exit_could_not_look);
  machine::InputFiles inputs = machine::captured_machine(options.root);
  if (!options.token_file.empty()) inputs.files.push_back(options.token_file);
  if (const auto error = refuse_stream(options)) return print_error(context, *error, exit_usage);
  if (const auto code = refuse_outputs({text_file_of(options)}, inputs, context)) return *code;
  Publisher publisher(options, **watch, context);
  if (options.once) {
    const Status done = publisher.look();
    return done ? int{exit_ok} : print_error(context, done.error(), exit_could_not_look);
  }
  return serve_pages(options, *address, *std::move(token), publisher, context);
}

}  // namespace

void add_serve(CLI::App& app, Context& context) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command =
      app.add_subcommand("serve", "Show this machine's GPUs as metrics and as a live page");
  command
      ->add_option("--listen", options->listen,
                   "Where to listen (default: 127.0.0.1:9873, this machine alone)")
      ->type_name("ADDRESS:PORT");
  command
      ->add_option("--token-file", options->token_file,
                   "Show it only to who sends the token in this file: needed where others can "
                   "reach the address")
      ->type_name("FILE");
  command
      ->add_option("--textfile", options->text_file,
                   "Also write the metrics to this file, for node_exporter's textfile collector")
      ->type_name("FILE");
  command
      ->add_option("--interval", options->interval_s,
                   "How often to look, in seconds, 1 to 3600 (default: 5)")
      ->type_name("SECONDS")
      ->check(number_between(1, 3600, "seconds"));
  command->add_flag("--once", options->once,
                    "Write the metrics once, to --textfile or to standard output, and end");
  command->add_option("--root", options->root, "A captured machine, as for headroom check --root")
      ->type_name("PATH");
  command->footer(
      "/ is the page, /metrics for Prometheus, /live.json and /events the same for programs "
      "(headroom.live/1), /healthz is 200 where jobs can run and 503 where not. Nothing on it "
      "acts, "
      "and a GPU that sleeps is not woken.\n\n"
      "Exit: 0 ended by ^C or SIGTERM, 2 wrong usage, 3 could not look, listen or write.\n\n"
      "Examples:\n"
      "  headroom serve                                         then open the address that it "
      "says\n"
      "  headroom serve --listen 0.0.0.0:9873 --token-file tok  for other machines\n"
      "  headroom serve --once --textfile /var/lib/node_exporter/headroom.prom");
  command->callback([options, &context] { context.exit_code = run_serve(*options, context); });
}

}  // namespace headroom::cli
