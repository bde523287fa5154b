// SPDX-License-Identifier: Apache-2.0
#include "service/ask.h"

#include <fmt/format.h>

#include <algorithm>

#include "machine/services/kin.h"
#include "machine/user_files.h"

namespace headroom::service {
namespace {

constexpr double longest_probe_s = 5;
constexpr double shortest_probe_s = 0.2;

std::uint64_t to_ms(double seconds) {
  return static_cast<std::uint64_t>(seconds * 1000);
}

deploy::Answer to_answer(machine::LoadAnswer answer) {
  deploy::Answer it;
  switch (answer.end) {
    case machine::LoadAnswer::End::answered:
      it.end = deploy::Answer::End::answered;
      break;
    case machine::LoadAnswer::End::timed_out:
      it.end = deploy::Answer::End::timed_out;
      break;
    case machine::LoadAnswer::End::transport:
      it.end = deploy::Answer::End::transport;
      break;
  }
  it.status = answer.status;
  it.body = std::move(answer.body);
  it.detail = std::move(answer.detail);
  it.ms = answer.ms;
  return it;
}

}  // namespace

bool SmokeAsk::wait(std::uint64_t wait_ms) {
  if (!load_) return true;
  auto answers = load_->wait(wait_ms);
  if (!answers) {
    fail(answers.error().message);
    return true;
  }
  for (machine::LoadAnswer& one : *answers) {
    const bool broke = one.end == machine::LoadAnswer::End::transport;
    const deploy::Answer answer = to_answer(std::move(one));
    run_.fault = deploy::judge_answer(smoke_, answer, baseline_ ? &*baseline_ : nullptr);
    if (!run_.fault && is_baseline_ && run_.first)
      run_.fault = deploy::judge_repetition(smoke_, answer, *run_.first);
    lost_connection_ = lost_connection_ || broke;
    if (run_.fault) {
      load_.reset();
      return true;
    }
    run_.ms.push_back(answer.ms);
    if (!run_.first) run_.first = answer;
  }
  return load_->is_over();
}

void SmokeAsk::fail(const std::string& why) {
  load_.reset();
  run_.fault = deploy::Fault{deploy::Fault::Kind::failed, why, deploy::describe(smoke_), ""};
}

Result<std::optional<std::string>> read_body(const deploy::Smoke& smoke,
                                             const std::string& folder) {
  if (!smoke.request || !smoke.request->body_file) return std::optional<std::string>();
  const std::string& file = *smoke.request->body_file;
  auto body = machine::read_file(file.starts_with('/') ? file : folder + "/" + file);
  if (!body) return std::move(body).error().in("smoke.body_file");
  return std::optional(*std::move(body));
}

Result<std::unique_ptr<Asker>> Asker::make(const deploy::ServiceSpec& spec, std::string folder,
                                           std::vector<std::string> environment,
                                           std::shared_ptr<machine::OwnCommands> own,
                                           std::optional<std::string> body) {
  std::unique_ptr<Asker> asker(new Asker(spec));
  asker->folder_ = std::move(folder);
  asker->environment_ = std::move(environment);
  asker->environment_.emplace_back(machine::own_command_variable);
  asker->own_ = std::move(own);
  if (spec.smoke.request || spec.health.url) {
    HEADROOM_TRY(asker->curl_, machine::Libcurl::load());
  }
  if (!spec.smoke.request) return asker;
  const deploy::Request& asked = *spec.smoke.request;
  machine::HttpRequest& request = asker->smoke_request_;
  request.url = asked.url;
  request.method = asked.method;
  request.headers = asked.headers;
  // A redirection that is expected is not followed.
  request.follow_redirects = spec.smoke.expect_status < 300 || spec.smoke.expect_status >= 400;
  request.body = std::move(body);
  return asker;
}

Result<std::unique_ptr<machine::Load>> Asker::ask(const machine::HttpRequest* request,
                                                  const std::vector<std::string>& command,
                                                  const machine::LoadShape& shape) const {
  if (request != nullptr) return machine::start_requests(*curl_, *request, shape);
  return machine::start_commands({command, folder_, environment_, "", own_}, shape);
}

std::unique_ptr<SmokeAsk> Asker::begin_smoke(const deploy::action::RunSmoke& run) const {
  const deploy::Smoke& smoke = spec_.smoke;
  auto asked = std::make_unique<SmokeAsk>(smoke, run);
  const machine::LoadShape shape{smoke.repeat, std::max<std::uint64_t>(smoke.concurrency, 1),
                                 to_ms(smoke.timeout_s)};
  auto load = ask(smoke.request ? &smoke_request_ : nullptr, smoke.command, shape);
  if (load) {
    asked->begin(*std::move(load));
  } else {
    asked->fail(load.error().message);
  }
  return asked;
}

Result<std::unique_ptr<machine::Load>> Asker::begin_probe() const {
  const deploy::Health& health = spec_.health;
  if (!health.url && health.command.empty()) return std::unique_ptr<machine::Load>();
  const double timeout_s =
      std::clamp(std::min(health.timeout_s, spec_.watch.hang_s), shortest_probe_s, longest_probe_s);
  const machine::LoadShape once{1, 1, to_ms(timeout_s)};
  machine::HttpRequest request;
  if (health.url) request.url = *health.url;
  return ask(health.url ? &request : nullptr, health.command, once);
}

deploy::event::HealthSeen Asker::judge_probe(const machine::LoadAnswer& answer) const {
  using End = machine::LoadAnswer::End;
  deploy::event::HealthSeen seen;
  seen.answered = answer.end != End::timed_out;
  if (answer.end != End::answered) {
    seen.detail = answer.end == End::timed_out ? "no answer in time" : answer.detail;
  } else if (spec_.health.url) {
    seen.healthy = answer.status >= 200 && answer.status < 400;
    seen.detail = fmt::format("status {}", answer.status);
  } else {
    seen.healthy = answer.status == 0;
    seen.detail = fmt::format("the health command ended with {}", answer.status);
  }
  return seen;
}

bool Asker::port_is_open() const {
  constexpr std::uint64_t timeout_ms = 1000;
  return !spec_.smoke.request || machine::takes_connections(spec_.smoke.request->url, timeout_ms);
}

}  // namespace headroom::service
