// SPDX-License-Identifier: Apache-2.0
// Asking a service: the health probe and the smoke test of its SERVICE.toml, put to it by requests
// or commands and judged by deploy/answer.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "deploy/deployer.h"
#include "machine/services/http.h"
#include "machine/services/running_program.h"

namespace headroom::service {

// A smoke test under way. One thread.
class SmokeAsk {
 public:
  SmokeAsk(const deploy::Smoke& smoke, const deploy::action::RunSmoke& run)
      : smoke_(smoke),
        number_(run.number),
        is_baseline_(run.whose == deploy::Whose::baseline),
        baseline_(run.compare_with) {}

  void begin(std::unique_ptr<machine::Load> load) { load_ = std::move(load); }
  // Waits at most so long. True: it is over, by its end, by its first fault, or because it could
  // not go on.
  bool wait(std::uint64_t wait_ms);
  void cancel() { load_.reset(); }

  std::uint64_t number() const { return number_; }
  // The connection broke off, or there was none: a process may have died of the request.
  bool lost_connection() const { return lost_connection_; }
  deploy::SmokeRun take() { return std::move(run_); }
  // What makes it fail before anything was asked.
  void fail(const std::string& why);

 private:
  const deploy::Smoke& smoke_;
  std::uint64_t number_;
  bool is_baseline_;
  std::optional<deploy::Answer> baseline_;
  std::unique_ptr<machine::Load> load_;
  deploy::SmokeRun run_;
  bool lost_connection_ = false;
};

// The text of smoke.body_file; nothing where none is named. Fails with what is wrong with it.
Result<std::optional<std::string>> read_body(const deploy::Smoke& smoke, const std::string& folder);

// Asks in the way that SERVICE.toml says. One thread.
class Asker {
 public:
  // `folder`: of SERVICE.toml. `environment`: of commands. `own`: where they are entered while they
  // run. `body`: of the request. `spec` must outlive this. Fails with unsupported where a URL is to
  // be asked and libcurl is not there.
  static Result<std::unique_ptr<Asker>> make(const deploy::ServiceSpec& spec, std::string folder,
                                             std::vector<std::string> environment,
                                             std::shared_ptr<machine::OwnCommands> own,
                                             std::optional<std::string> body);

  std::unique_ptr<SmokeAsk> begin_smoke(const deploy::action::RunSmoke& run) const;
  // One probe, with a time-out of its own; null where nothing is to be asked but the port.
  Result<std::unique_ptr<machine::Load>> begin_probe() const;
  // What the answer of a probe means.
  deploy::event::HealthSeen judge_probe(const machine::LoadAnswer& answer) const;
  // Whether the port of the smoke test's URL takes connections; true where it has no URL.
  bool port_is_open() const;

 private:
  explicit Asker(const deploy::ServiceSpec& spec) : spec_(spec) {}
  Result<std::unique_ptr<machine::Load>> ask(const machine::HttpRequest* request,
                                             const std::vector<std::string>& command,
                                             const machine::LoadShape& shape) const;

  const deploy::ServiceSpec& spec_;
  std::string folder_;
  std::vector<std::string> environment_;
  std::shared_ptr<machine::OwnCommands> own_;
  std::optional<machine::Libcurl> curl_;
  machine::HttpRequest smoke_request_;
};

}  // namespace headroom::service
