// SPDX-License-Identifier: Apache-2.0
#include "simulation/deploy_world.h"

#include <algorithm>

namespace headroom::simulation {

using namespace deploy;  // NOLINT(google-build-using-namespace): the world is made of its values.

World::World(ServiceSpec spec, Options options, Way way, Trouble trouble, std::uint64_t seed)
    : spec_(std::move(spec)),
      options_(std::move(options)),
      way_(way),
      trouble_(trouble),
      random_(seed) {
  running = !trouble.old_is_stopped;
}

Time World::jitter(int from_ms, int to_ms) {
  return Time(std::uniform_int_distribution<int>(from_ms, to_ms)(random_));
}

void World::answer(Time after, Event event) {
  pending_.push_back({now + after, order_++, std::move(event)});
}

std::optional<DeployReport> World::run(std::optional<Kill> kill) {
  return drive(Deployer(spec_, options_), event::Begin{}, kill);
}

std::optional<DeployReport> World::run_again(std::optional<Kill> kill) {
  if (stored.empty()) return std::nullopt;
  auto record = parse_record(stored);
  if (!record || !needs_finishing(*record)) return std::nullopt;
  event::Found found;
  found.change_id = change_;
  found.change = change_.empty()              ? event::Found::Change::none
                 : files == Files::wholly_new ? event::Found::Change::in_force
                                              : event::Found::Change::partly;
  return drive(Deployer::resume(spec_, options_, *std::move(record)), found, kill);
}

std::optional<DeployReport> World::drive(Deployer deployer, Event first, std::optional<Kill> kill) {
  pending_.clear();
  observing_ = false;
  smoke_.reset();
  actions = 0;
  finished_ = false;
  answer(Time{0}, std::move(first));
  while (!finished_) {
    if (pending_.empty()) {
      stuck = true;
      return std::nullopt;
    }
    const auto next =
        std::min_element(pending_.begin(), pending_.end(), [](const Pending& a, const Pending& b) {
          return a.when != b.when ? a.when < b.when : a.order < b.order;
        });
    const Pending event = *next;
    pending_.erase(next);
    now = std::max(now, event.when);
    const auto* sample = std::get_if<event::Sample>(&event.event);
    if (sample != nullptr && sample->start == 0) {  // The time for the next look has come.
      if (!observing_ || sample->main != std::to_string(start_number_)) continue;
      look();
      look_later();
      continue;
    }
    for (const Action& action : deployer.step(event.event, now)) {
      if (kill && actions == kill->at) {
        kill_now(*kill, action);
        return std::nullopt;
      }
      if (trouble_.signal_at == actions) answer(Time{0}, event::Signal{"SIGINT"});
      ++actions;
      if (!act(action)) break;
    }
  }
  return report_;
}

void World::kill_now(const Kill& kill, const Action& action) {
  if (kill.half_done) half(action);
  pending_.clear();
  observing_ = false;
  now += Time{5000};
  if (!kill.reboots) return;
  running = false;
  if (files != Files::partly) start();
}

// An action of which only a part was done.
void World::half(const Action& action) {
  if (std::holds_alternative<action::Apply>(action) && !trouble_.apply_fails) {
    touched = true;
    change_ = "20260101T000000Z-deploy-photos";
    files =
        std::uniform_int_distribution<int>(0, 1)(random_) == 0 ? Files::partly : Files::wholly_new;
  } else if (std::holds_alternative<action::Undo>(action)) {
    files = Files::partly;
  } else if (std::holds_alternative<action::StopService>(action)) {
    stop();
  } else if (std::holds_alternative<action::StartService>(action)) {
    start();
  } else if (const auto* keep = std::get_if<action::Keep>(&action)) {
    do_action(*keep);
  }
}

bool World::act(const Action& action) {
  if (const auto* keep = std::get_if<action::Keep>(&action)) return do_action(*keep);
  if (const auto* smoke = std::get_if<action::RunSmoke>(&action)) do_action(*smoke);
  if (const auto* diagnose = std::get_if<action::Diagnose>(&action)) do_action(*diagnose);
  if (const auto* undo = std::get_if<action::Undo>(&action)) do_action(*undo);
  if (const auto* apply = std::get_if<action::Apply>(&action)) do_action(*apply);
  if (const auto* probe = std::get_if<action::ProbeHealth>(&action)) do_action(*probe);
  if (const auto* wake = std::get_if<action::WakeAt>(&action))
    answer(wake->when - now, event::Tick{});
  if (std::holds_alternative<action::Commit>(action)) {
    committed = true;
    answer(Time{10}, event::Committed{});
  }
  if (std::holds_alternative<action::LookAtGate>(action)) {
    event::GateJudged judged;
    if (trouble_.gate_refuses) {
      findings::Cause cause;
      cause.id = "gpu-unsupported";
      judged.gate.checks.push_back({"GPU", GateCheck::Answer::refused, "not this one", cause});
    }
    answer(Time{100}, judged);
  } else if (std::holds_alternative<action::LookAtService>(action)) {
    using State = event::ServiceSeen::State;
    answer(Time{10}, event::ServiceSeen{running ? State::running : State::stopped, ""});
  } else if (std::holds_alternative<action::StopService>(action)) {
    stop();
    answer(jitter(50, 3000), event::Stopped{});
  } else if (std::holds_alternative<action::StartService>(action)) {
    start();
    if (running)
      answer(jitter(10, 1000), event::Started{});
    else
      answer(jitter(10, 1000), event::NotStarted{"exit code 1"});
  } else if (const auto* observe = std::get_if<action::Observe>(&action)) {
    observing_ = true;
    start_number_ = observe->start;
    oom_kills_ = 0;
    deaths_.clear();
    look_later();
  } else if (std::holds_alternative<action::StopObserving>(action)) {
    observing_ = false;
  } else if (std::holds_alternative<action::CancelSmoke>(action) && smoke_) {
    SmokeRun run;
    run.fault = Fault{Fault::Kind::failed, "cancelled", "", ""};
    answer(Time{1}, event::SmokeEnded{*smoke_, run, std::nullopt});
    smoke_.reset();
  } else if (const auto* finish = std::get_if<action::Finish>(&action)) {
    finished_ = true;
    report_ = finish->report;
  }
  return true;
}

bool World::do_action(const action::Keep& keep) {
  ++keeps_;
  if (trouble_.keep_fails_at && keeps_ >= *trouble_.keep_fails_at) {
    if (!keep.must) return true;
    answer(Time{0}, event::NotKept{{Errc::no_space, "no space left", "df -h"}});
    return false;
  }
  stored = to_json_text(keep.record);
  return true;
}

void World::do_action(const action::Apply&) {
  touched = true;
  if (trouble_.apply_fails) {
    answer(Time{50}, event::NotApplied{{Errc::io, "the disk is full", ""}, true, ""});
    return;
  }
  files = Files::wholly_new;
  change_ = "20260101T000000Z-deploy-photos";
  answer(Time{50}, event::Applied{change_});
}

void World::do_action(const action::Undo&) {
  if (trouble_.undo_failures > 0) {
    --trouble_.undo_failures;
    answer(Time{50}, event::NotUndone{{Errc::io, "cannot write", "sudo headroom undo X"}});
    return;
  }
  files = Files::old;
  change_.clear();
  answer(Time{50}, event::Undone{});
}

SmokeRun World::right_run(double ms) const {
  SmokeRun run;
  run.ms.assign(spec_.smoke.repeat, ms);
  run.first = Answer{};
  run.first->status = 200;
  run.first->body = "{}";
  return run;
}

// What the world looks like once the requests were made.
void World::do_action(const action::RunSmoke& smoke) {
  smoke_ = smoke.number;
  event::SmokeEnded ended{smoke.number, right_run(runs_new && way_ == Way::slow ? 400 : 100),
                          std::nullopt};
  if (smoke.measure_gpu) {
    ended.gpu = GpuUse{true, Bytes{1U << 30U}, Bytes{}, 400, {}};
    if (way_now() == Way::on_cpu) ended.gpu = GpuUse{false, Bytes{}, Bytes{}, 0, {}};
  }
  const auto fail = [&](Fault::Kind kind, std::string text) {
    ended.run.fault = Fault{kind, std::move(text), "", ""};
    ended.run.first.reset();
  };
  Time takes = jitter(500, 5000);
  const Way way = way_now();
  if (!running) fail(Fault::Kind::failed, "connection refused");
  if (!runs_new && trouble_.old_is_broken)
    fail(Fault::Kind::failed, "expected status 200, found 503");
  if (way == Way::fails) fail(Fault::Kind::failed, "expected status 200, found 500");
  if (way == Way::answers_wrongly) fail(Fault::Kind::wrong, "expected 1 at /n, found 2");
  if (way == Way::hangs_at_load) {
    takes = Time(static_cast<int>(spec_.smoke.timeout_s * 1000));
    fail(Fault::Kind::no_answer, "expected an answer within 120 s, found none");
  }
  if (way == Way::aborts_at_load || way == Way::logged_death || way == Way::out_of_memory) {
    if (way == Way::out_of_memory) ++oom_kills_;
    die(way == Way::out_of_memory ? 137 : 134, true);
    if (random_() % 2 == 0) look();  // Before the connection is seen to be broken, or after.
    fail(Fault::Kind::failed, "the connection failed");
  }
  if (way == Way::restarted_by_other && !smoked_new_) {
    ++mains_;
    started_ = now;
    fail(Fault::Kind::failed, "the connection failed");
  }
  smoked_new_ = smoked_new_ || runs_new;
  was_asked_ = true;
  answer(takes, ended);
}

void World::do_action(const action::Diagnose&) {
  look();
  event::Diagnosed diagnosed;
  if (way_now() == Way::logged_death) {
    diagnosed.verdict.cause.emplace();
    diagnosed.verdict.cause->id = "gfx-target-missing";
    diagnosed.verdict.cause->confidence = 0.9;
  }
  answer(jitter(20, 300), diagnosed);
}

void World::do_action(const action::ProbeHealth& probe) {
  const Way way = way_now();
  const Time up = now - started_;
  event::HealthSeen seen{probe.number, false, true, "connection refused"};
  seen.healthy = running && now >= returns_ && up > Time{1500} && way != Way::never_healthy &&
                 way != Way::dies_at_start;
  if (way == Way::hangs_later && was_asked_ && up > Time{200'000}) {
    seen = {probe.number, false, false, "no answer"};
  }
  answer(jitter(5, 50), seen);
}

void World::start() {
  touched = true;
  if (files == Files::partly) ran_mixed = true;
  if (files == Files::old && trouble_.old_start_failures > 0 && change_.empty()) {
    --trouble_.old_start_failures;
    running = false;
    return;
  }
  running = true;
  runs_new = files == Files::wholly_new;
  ++mains_;
  started_ = now;
  returns_ = Time{0};
  was_asked_ = false;
}

void World::stop() {
  touched = true;
  running = false;
}

void World::die(int code, bool restarts) {
  deaths_.push_back({code, code > 128 ? std::optional<int>(code - 128) : std::nullopt, true, "ml"});
  running = restarts;
  if (!restarts) return;
  ++mains_;
  started_ = now + Time{1000};
  returns_ = started_;
}

// One look at the service, after what has happened to it by now.
void World::look() {
  const Way way = way_now();
  const Time up = now - started_;
  if (running && way == Way::dies_at_start && up > Time{1000}) die(1, true);
  if (running && way == Way::dies_later && up > Time{150'000}) die(139, true);
  if (running && way == Way::ends_by_itself && up > Time{100'000}) die(0, false);
  event::Sample seen;
  seen.start = start_number_;
  seen.running = running && now >= returns_;
  seen.will_restart = running && now < returns_;
  seen.main = seen.running ? std::to_string(mains_) : "";
  seen.deaths = std::exchange(deaths_, {});
  seen.oom_kills = oom_kills_;
  const std::uint64_t grown = way == Way::leaks ? static_cast<std::uint64_t>(up.count()) * 8000 : 0;
  seen.memory = Bytes{(std::uint64_t{1} << 30U) + grown};
  seen.memory_limit = Bytes{std::uint64_t{4} << 30U};
  answer(Time{0}, seen);
}

void World::look_later() {
  event::Sample when_it_is_time;
  when_it_is_time.main = std::to_string(start_number_);
  answer(Time{1000}, when_it_is_time);
}

}  // namespace headroom::simulation
