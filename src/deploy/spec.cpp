// SPDX-License-Identifier: Apache-2.0
#include "deploy/spec.h"

#include <cmath>

#include "base/document.h"
#include "base/document_reader.h"
#include "deploy/spec_checks.h"

namespace headroom::deploy {
namespace {

constexpr double longest_s = 7.0 * 24 * 3600;
constexpr std::uint64_t most_requests = 100'000;

void read_service(TableReader table, ServiceName& service) {
  service.name = table.text("name");
  const TableReader::Words<ServiceKind> kinds = {{"systemd", ServiceKind::systemd},
                                                 {"quadlet", ServiceKind::quadlet},
                                                 {"compose", ServiceKind::compose},
                                                 {"commands", ServiceKind::commands}};
  service.kind = table.word("kind", kinds);
  table.read("user", service.user);
  table.read("unit", service.unit);
  table.read("file", service.file);
  table.read("service", service.service);
  table.read("start", service.start);
  table.read("stop", service.stop);
  table.read("status", service.status);
  table.read("logs", service.logs);
  table.read("pidfile", service.pidfile);
  table.refuse_unknown();
  check_service(table, service);
}

std::optional<TypedSet> read_set(TableReader& change) {
  if (!change.has("set")) {
    change.find("set");
    return std::nullopt;
  }
  TypedSet set;
  TableReader table = change.table("set");
  table.read("image", set.image);
  table.read("environment", set.environment);
  table.read("devices", set.devices);
  table.read("groups", set.groups);
  table.read("memory", set.memory);
  if (table.has("command")) {
    std::vector<std::string> command;
    table.read("command", command);
    set.command = std::move(command);
  } else {
    table.find("command");
  }
  table.read("keys", set.keys);
  table.refuse_unknown();
  check_set(table, set);
  return set;
}

std::vector<FileChange> read_changes(TableReader& root, const ServiceName& service) {
  std::vector<FileChange> changes;
  for (TableReader& table : root.has("tune") ? root.rows("change") : root.tables("change")) {
    FileChange change;
    table.read("file", change.file);
    table.read("with", change.with);
    change.set = read_set(table);
    table.refuse_unknown();
    if (change.file.empty() && change.set && service.kind == ServiceKind::compose) {
      change.file = service.file;
    }
    check_change(table, change);
    changes.push_back(std::move(change));
  }
  if (changes.empty() && !root.has("tune")) {
    root.fail("change", Errc::invalid, "expected at least one change, found none",
              "add [[change]] with file and with, or file and set");
  }
  return changes;
}

// A value as the file writes it: 4 and "4" are one. Empty, which is refused: nan and inf.
std::string value_text(const Json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) return "";
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<TuneSetting> read_tune(TableReader& root) {
  std::vector<TuneSetting> settings;
  for (TableReader& table : root.rows("tune")) {
    TuneSetting setting;
    setting.name = table.text("name");
    table.read_choice("as", setting.as, {"environment", "option", "key"});
    table.read("file", setting.file);
    for (const Json& value : table.any_array("values")) setting.values.push_back(value_text(value));
    table.read_choice("role", setting.role, {"none", "workers", "threads", "batch"});
    table.refuse_unknown();
    check_tune(table, setting, settings);
    settings.push_back(std::move(setting));
  }
  return settings;
}

void read_health(TableReader table, Health& health) {
  table.read("url", health.url);
  table.read("command", health.command);
  table.read("timeout_s", health.timeout_s, 0.1, longest_s);
  table.refuse_unknown();
  check_command(table, "command", health.command);
  if (health.url) check_url(table, "url", *health.url);
  if (health.url && !health.command.empty()) {
    table.fail("command", Errc::invalid, "expected url or command, found both",
               "leave one of them out");
  }
}

// A value of any type, with the pointer that it is expected at.
std::vector<ExpectedValue> read_expected(TableReader& table) {
  std::vector<ExpectedValue> expected;
  for (const auto& [pointer, value] : table.any_table("expect_json").items()) {
    check_pointer(table, "expect_json", pointer);
    expected.push_back({pointer, value.dump(-1, ' ', false, Json::error_handler_t::replace)});
  }
  return expected;
}

void read_request(TableReader& table, Smoke& smoke) {
  Request request;
  std::optional<std::string> url;
  table.read("url", url);
  table.read("method", request.method);
  table.read("body_file", request.body_file);
  table.read("headers", request.headers);
  if (!url) {
    refuse_without_url(table);
    return;
  }
  request.url = *url;
  check_request(table, request);
  smoke.request = std::move(request);
}

void read_smoke(TableReader table, Smoke& smoke) {
  read_request(table, smoke);
  table.read("command", smoke.command);
  table.read("expect_status", smoke.expect_status, {100, 599});
  smoke.expect_json = read_expected(table);
  table.read("expect_text", smoke.expect_text);
  table.read("repeat", smoke.repeat, {1, most_requests});
  const bool says_concurrency = table.has("concurrency");
  table.read("concurrency", smoke.concurrency, {1, 1024});
  table.read("timeout_s", smoke.timeout_s, 0.1, longest_s);
  table.read("same_answers", smoke.same_answers);
  table.read("tolerance", smoke.tolerance, 0, 1);
  table.read("ignore", smoke.ignore);
  table.refuse_unknown();
  check_smoke(table, smoke);
  if (smoke.concurrency <= smoke.repeat) return;
  if (says_concurrency) {
    table.fail("concurrency", Errc::invalid,
               "expected at most as many at once as repeat says in all",
               "make concurrency smaller, or repeat larger");
  }
  smoke.concurrency = smoke.repeat;
}

void read_expect(TableReader table, Expect& expect) {
  table.read("gpu", expect.gpu);
  table.read("faster", expect.faster, 0, 1e6);
  table.read("memory", expect.memory);
  table.read("job", expect.job);
  table.refuse_unknown();
  if (expect.memory && expect.job) {
    table.fail("job", Errc::invalid, "expected memory or job, found both", "leave one of them out");
  }
  if (expect.memory && expect.memory->value == 0) table.wrong("memory", "more than nothing");
}

void read_watch(TableReader table, Watch& watch) {
  table.read("seconds", watch.seconds, 0, longest_s);
  table.read("crashes", watch.crashes, {0, 1000});
  table.read("hang_s", watch.hang_s, 1, longest_s);
  table.refuse_unknown();
}

}  // namespace

Result<ServiceSpec> parse_service_spec(std::string_view text, const std::string& file) {
  auto document = parse_toml(text);
  if (!document) return std::move(document).error().in(file);
  DocumentReader reader(*document, {Spelling::toml, "the file", file, ""});
  TableReader root = reader.root();
  ServiceSpec spec;
  read_service(root.table("service"), spec.service);
  spec.changes = read_changes(root, spec.service);
  spec.tune = read_tune(root);
  read_health(root.optional_table("health"), spec.health);
  read_smoke(root.table("smoke"), spec.smoke);
  read_expect(root.optional_table("expect"), spec.expect);
  read_watch(root.optional_table("watch"), spec.watch);
  root.refuse_unknown();
  HEADROOM_CHECK(reader.finish());
  return spec;
}

std::string_view to_string(ServiceKind kind) {
  switch (kind) {
    case ServiceKind::systemd:
      return "systemd";
    case ServiceKind::quadlet:
      return "quadlet";
    case ServiceKind::compose:
      return "compose";
    case ServiceKind::commands:
      return "commands";
  }
  return "commands";
}

std::string_view to_string(TuneSetting::As as) {
  switch (as) {
    case TuneSetting::As::environment:
      return "environment";
    case TuneSetting::As::option:
      return "option";
    case TuneSetting::As::key:
      return "key";
  }
  return "environment";
}

std::string_view to_string(TuneSetting::Role role) {
  switch (role) {
    case TuneSetting::Role::none:
      return "none";
    case TuneSetting::Role::workers:
      return "workers";
    case TuneSetting::Role::threads:
      return "threads";
    case TuneSetting::Role::batch:
      return "batch";
  }
  return "none";
}

}  // namespace headroom::deploy
