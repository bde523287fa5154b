// SPDX-License-Identifier: Apache-2.0
#include "service/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/shell_quote.h"
#include "machine/clock.h"
#include "service/power.h"
#include "service/trials.h"
#include "service/tune_files.h"
#include "service/workplace.h"

namespace headroom::service {
namespace {

TuneDone mistake(Error error) {
  TuneDone done;
  done.mistake = std::move(error);
  return done;
}

// Of what is free and what the service holds, a tenth is left to everybody else.
std::optional<Bytes> memory_for(const Workplace& place, const machine::ServiceSample& now) {
  constexpr std::uint64_t tenths = 9;
  std::optional<Bytes> most = place.order().spec.expect.memory;
  const auto take = [&most](Bytes other) {
    if (!most || other < *most) most = other;
  };
  if (now.memory_limit) take(*now.memory_limit);
  const auto& available = place.machine().facts.machine.memory.available;
  if (available) {
    const Bytes free = *available + now.memory.value_or(Bytes{});
    take(Bytes{free.value / 10 * tenths});
  }
  return most;
}

findings::Cause broken(const deploy::ServiceSpec& spec, const std::string& what,
                       const std::string& advice) {
  findings::Cause cause;
  cause.id = "baseline-broken";
  cause.title = "There is nothing to compare with: " + spec.service.name + " " + what;
  cause.confidence = 1;
  cause.fix = {findings::sentence(advice)};
  return cause;
}

class Tuning {
 public:
  Tuning(const TuneOrder& order, Workplace& place) : order_(order), place_(place) {}

  Result<TuneDone> run();

 private:
  const deploy::ServiceSpec& spec() const { return order_.deploy.spec; }
  Result<TuneDone> act(const std::string& folder, const std::optional<std::string>& body);
  Status check_files(const std::string& folder) const;
  // False: the present configuration is not fit to be compared with, or somebody ended it.
  Result<bool> measure_present(Trials& trials, tune::Search& search);
  Status try_all(Trials& trials, tune::Search& search);
  Status bring_back(Trials& trials);
  Status deploy_best(Trials& trials);
  void say_bounds(const tune::Search& search);
  void conclude(const tune::Search& search);
  // Of a run of the whole smoke test with the present settings.
  std::optional<double> present_ms(const std::vector<double>& requests_ms) const {
    return tune::item_ms(requests_ms, report_.at_once, report_.at_once);
  }
  void judge_worth();
  void say(const std::string& text) const { order_.deploy.say(text, ""); }
  TuneDone done() {
    TuneDone done;
    done.report = std::move(report_);
    return done;
  }

  const TuneOrder& order_;
  Workplace& place_;
  tune::TuneReport report_;
  std::optional<double> watts_;
};

Result<TuneDone> Tuning::run() {
  const std::string folder = folder_of(order_.deploy.file);
  HEADROOM_CHECK(place_.look());
  auto present = read_present(spec(), folder);
  if (!present) {
    if (present.error().code == Errc::no_permission) return present.error();
    return mistake(present.error());
  }
  const auto body = read_body(spec().smoke, folder);
  if (!body) return mistake(body.error());
  HEADROOM_TRY(const auto knobs, knowledge::load_service_knobs());
  const tune::Resources resources{order_.cores, spec().smoke.concurrency};
  auto space = tune::make_space(spec(), *present, resources, knobs);
  if (!space) return mistake(space.error());
  report_.name = spec().service.name;
  report_.space = *std::move(space);
  report_.repeat = spec().smoke.repeat;
  report_.at_once = spec().smoke.concurrency;
  if (const Status fits = check_files(folder); !fits) {
    if (fits.error().code == Errc::no_permission) return fits.error();
    return mistake(fits.error());
  }
  if (order_.deploy.apply) return act(folder, *body);
  const tune::Search search(report_.space, {report_.repeat, report_.at_once,
                                            static_cast<double>(order_.cores), std::nullopt});
  say_bounds(search);
  report_.why = "nothing was touched, so nothing was measured";
  report_.next = {findings::command(shell_line(order_.deploy.words) + " --apply")};
  judge_worth();
  return done();
}

// Each setting can be made by an edit of its file: found out before anything is stopped.
Status Tuning::check_files(const std::string& folder) const {
  const tune::Space& space = report_.space;
  for (std::size_t axis = 0; axis < space.axes.size(); ++axis) {
    const auto differs = [&](const tune::Point& point) {
      return point[axis] != space.axes[axis].now;
    };
    const auto point = std::find_if(space.points.begin(), space.points.end(), differs);
    if (point == space.points.end()) continue;
    deploy::ServiceSpec changed = spec();
    changed.changes = tune::changes_of(space, *point);
    HEADROOM_TRY(const auto change, read_change(changed, folder, nullptr, order_.deploy.words));
    if (order_.deploy.apply) HEADROOM_CHECK(check_rights(change, order_.deploy.words));
  }
  return Done{};
}

Result<TuneDone> Tuning::act(const std::string& folder, const std::optional<std::string>& body) {
  HEADROOM_CHECK(place_.make_hands(spec(), order_.deploy.file));
  HEADROOM_CHECK(place_.make_asker(spec(), folder, body));
  HEADROOM_CHECK(place_.take_lock());
  const machine::ServiceSample now = place_.service()->sample();
  report_.memory = memory_for(place_, now);
  HEADROOM_TRY(const auto status, place_.service()->status());
  if (status.state != machine::ServiceStatus::State::running) {
    report_.outcome = tune::Outcome::refused;
    report_.cause = broken(spec(), "does not run (" + status.detail + ")",
                           "Start it; then run headroom tune again.");
    return done();
  }
  HEADROOM_CHECK(place_.begin_acting(body));
  const std::uint64_t began_ns = machine::monotonic_ns();
  machine::HeldSignals signals;
  Trials trials(place_, signals, {body, report_.memory});
  tune::Search search(report_.space, {report_.repeat, report_.at_once,
                                      static_cast<double>(order_.cores), report_.memory});
  say_bounds(search);
  HEADROOM_TRY(const bool is_fit, measure_present(trials, search));
  if (!is_fit) return done();
  const Status tried = try_all(trials, search);
  // While the system goes down nothing starts any more; the next boot brings it back.
  if (!tried && tried.error().code == Errc::busy) return tried.error();
  const Status back = bring_back(trials);
  conclude(search);
  report_.seconds = static_cast<double>(machine::monotonic_ns() - began_ns) / 1e9;
  if (!tried) return tried.error();
  if (!back) return back.error();
  const bool goes_on = report_.outcome == tune::Outcome::planned;
  if (goes_on && tune::is_faster(report_)) {
    HEADROOM_CHECK(deploy_best(trials));
  } else if (goes_on) {
    report_.outcome = tune::Outcome::kept;
    report_.changes.clear();
    report_.why = fmt::format(
        "nothing that was tried is faster by more than {:.0f} %, which is how "
        "far two measurements of one setting lie apart",
        report_.baseline.noise() * 100);
  }
  judge_worth();
  return done();
}

Result<bool> Tuning::measure_present(Trials& trials, tune::Search& search) {
  say(fmt::format("measuring the present settings: {} requests, {} at once", report_.repeat,
                  report_.at_once));
  const PowerLook power(place_.machine().root.files);
  HEADROOM_TRY(const deploy::SmokeRun run, trials.measure_present());
  watts_ = power.watts();
  if (!trials.ended_by().empty()) {
    report_.outcome = tune::Outcome::interrupted;
    report_.why = "ended by " + trials.ended_by() + "; nothing was touched";
    return false;
  }
  if (run.fault) {
    report_.outcome = tune::Outcome::refused;
    report_.cause = broken(spec(), "fails its own smoke test",
                           "Fix the service, or the smoke test in SERVICE.toml.");
    report_.cause->reasons = {run.fault->message};
    return false;
  }
  tune::Measured measured;
  measured.requests_ms = run.ms;
  measured.peak = place_.service()->sample().memory;
  search.tell_present(measured);
  report_.baseline.ms = present_ms(run.ms);
  say(
      fmt::format("the present settings take {:.1f} ms an item; trying others, with at most {} "
                  "starts of the service and {} requests",
                  report_.baseline.ms.value_or(0), search.most_starts(), search.most_requests()));
  return true;
}

std::string describe_point(const tune::Space& space, std::size_t point) {
  std::string text;
  for (const auto& [name, value] : space.settings_of(space.points[point]))
    text += (text.empty() ? "" : ", ") + name + " = " + value;
  return text;
}

Status Tuning::try_all(Trials& trials, tune::Search& search) {
  while (const auto ask = search.next()) {
    HEADROOM_TRY(
        const tune::Measured measured,
        trials.try_changes(tune::changes_of(report_.space, report_.space.points[ask->point]),
                           ask->requests));
    search.tell(measured);
    const auto ms = tune::item_ms(measured.requests_ms, report_.at_once, ask->warm_up);
    const bool passed = measured.end == tune::Measured::End::passed && ms;
    say(fmt::format("{}: {}", describe_point(report_.space, ask->point),
                    passed ? fmt::format("{:.1f} ms an item", *ms) : measured.why));
    if (trials.is_over()) break;
  }
  return Done{};
}

Status Tuning::bring_back(Trials& trials) {
  HEADROOM_TRY(const auto back, trials.bring_back());
  if (back) {
    report_.restored = back->restored.value_or(false);
    report_.left = back->left;
    report_.baseline.again_ms = present_ms(back->restored_requests_ms);
  }
  if (!report_.restored.value_or(true)) {
    report_.outcome = tune::Outcome::failed;
    report_.why = "the old configuration could not be fully restored";
  } else if (!trials.ended_by().empty()) {
    report_.outcome = tune::Outcome::interrupted;
    report_.why = "ended by " + trials.ended_by();
  } else if (!trials.trouble().empty()) {
    report_.outcome = tune::Outcome::failed;
    report_.why = trials.trouble();
  }
  return Done{};
}

void Tuning::say_bounds(const tune::Search& search) {
  report_.most_requests = search.most_requests();
  report_.most_measurements = search.most_measurements();
  report_.most_starts = search.most_starts();
  report_.exhaustive = search.exhaustive();
}

void Tuning::conclude(const tune::Search& search) {
  report_.tried = search.tried();
  report_.best = search.best();
  report_.too_large = search.too_large();
  report_.requests = search.requests();
  report_.measurements = search.measurements();
  report_.starts = search.starts();
  if (report_.best)
    report_.changes = tune::changes_of(report_.space, report_.space.points[*report_.best]);
}

Status Tuning::deploy_best(Trials& trials) {
  say("deploying the fastest: " + describe_point(report_.space, *report_.best));
  HEADROOM_TRY(report_.deployed, trials.deploy(report_.changes));
  const deploy::DeployReport& deployed = *report_.deployed;
  report_.warnings = deployed.warnings;
  report_.next = deployed.next;
  report_.left = deployed.left;
  if (deployed.outcome == deploy::Outcome::committed) {
    report_.outcome = tune::Outcome::deployed;
    report_.restored.reset();
    return Done{};
  }
  report_.outcome = deployed.ended_by.empty() ? tune::Outcome::failed : tune::Outcome::interrupted;
  report_.cause = deployed.cause;
  report_.why = deployed.cause ? "" : deployed.why;
  report_.restored = deployed.restored.value_or(true);
  return Done{};
}

// By the best that was measured, or by what there is.
void Tuning::judge_worth() {
  tune::WorthQuestion question = order_.worth;
  if (!question.is_asked()) {
    report_.why_no_worth = "not asked: --items-per-day N says how much there is to do";
    return;
  }
  if (!question.faster && spec().expect.faster > 1) question.faster = spec().expect.faster;
  if (!question.cpu_watts && watts_) {
    question.cpu_watts = watts_;
    question.cpu_watts_source = "measured, RAPL";
  }
  const auto best = report_.best_ms();
  const auto ms = best ? best : report_.baseline.mean_ms();
  if (!question.faster) {
    report_.why_no_worth = "--faster R says how many times as fast the GPU is";
  } else if (!ms) {
    report_.why_no_worth = "nothing was measured";
  } else {
    report_.worth = tune::worth_of(question, *ms);
  }
}

}  // namespace

Result<TuneDone> tune_service(const TuneOrder& order) {
  HEADROOM_TRY(auto files, machine::WritableFiles::open("/"));
  watch_files(files, order.deploy);
  Workplace place(order.deploy, files);
  HEADROOM_TRY(auto finished, place.finish_earlier());
  if (finished) {
    TuneDone done;
    done.finished = std::move(finished);
    return done;
  }
  if (order.deploy.only_finish) {  // Somebody else finished it meanwhile, and the file is gone.
    return Error{Errc::not_found,
                 fmt::format("expected an interrupted deployment of {}, found none",
                             order.deploy.spec.service.name),
                 "headroom deploy --status"};
  }
  return Tuning(order, place).run();
}

}  // namespace headroom::service
