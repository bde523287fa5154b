// SPDX-License-Identifier: Apache-2.0
#include "deploy/spec_checks.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "base/document.h"
#include "base/text.h"
#include "deploy/json_compare.h"

namespace headroom::deploy {
namespace {

bool is_word_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// It becomes part of the names of files.
bool is_name(const std::string& name) {
  if (name.empty() || name.size() > 128 || name.front() == '.' || name.front() == '-') return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_word_letter(c) || c == '.' || c == '-'; });
}

bool is_variable(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), is_word_letter) &&
         (name.front() < '0' || name.front() > '9');
}

// Of workers, threads or the items of a batch.
bool is_count(const std::string& value) {
  constexpr std::uint64_t most = 1000000;
  const auto count = parse_u64(value);
  return count && *count > 0 && *count <= most;
}

// What may stand in front of the '=' of a plain configuration file.
bool is_key_name(const std::string& name) {
  return !name.empty() && !has_control(name) && name.find_first_of("=#;[ ") == std::string::npos;
}

// "host", "host:port", "[::1]:port".
bool is_authority(std::string_view text) {
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos || end < 3) return false;
    port = text.substr(end + 1);
  } else {
    const std::size_t colon = text.find(':');
    if (text.substr(0, colon).empty()) return false;
    port = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  if (port.empty()) return true;
  const auto number = parse_u64(port.substr(1));
  return port.front() == ':' && number && *number >= 1 && *number <= 65535;
}

// What is wrong with it; empty: nothing.
std::string fault_of_url(std::string_view url) {
  std::size_t begin = 0;
  const std::string scheme = to_lower(url.substr(0, url.find("://")));
  if (scheme == "http") {
    begin = 7;
  } else if (scheme == "https") {
    begin = 8;
  } else {
    return "one that begins with http:// or https://";
  }
  if (has_control(url) || url.find(' ') != std::string_view::npos) return "one without blanks";
  const std::string_view authority = url.substr(begin, url.find_first_of("/?#", begin) - begin);
  if (authority.find('@') != std::string_view::npos) {
    return "one without a user name or password; put those into headers";
  }
  if (!is_authority(authority))
    return "one with a host, and a port from 1 to 65535 if it names one";
  return "";
}

struct KeyOfKind {
  std::string_view key;
  bool given = false;
  std::vector<ServiceKind> kinds;
  bool required = true;
};

bool belongs(const KeyOfKind& key, ServiceKind kind) {
  return std::find(key.kinds.begin(), key.kinds.end(), kind) != key.kinds.end();
}

bool is_token(const std::string& text) {  // RFC 9110, 5.6.2.
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_word_letter(c) ||
           std::string_view("!#$%&'*+-.^`|~").find(c) != std::string_view::npos;
  });
}

// What `deploy --init` writes where only the user knows what belongs there.
bool is_placeholder(std::string_view value) {
  return value == "IMAGE:TAG" || value == "NAME" || value == "VALUE" ||
         value.find(":PORT/") != std::string_view::npos;
}

void refuse_placeholder(TableReader& table, std::string_view key, std::string_view value,
                        std::string_view wanted, std::string_view example) {
  if (!is_placeholder(value)) return;
  table.fail(key, Errc::invalid,
             fmt::format("expected {}, found the template's placeholder {}", wanted, value),
             fmt::format("write for instance {}", example));
}

void check_lines(TableReader& table, std::string_view key, const std::vector<std::string>& values) {
  const bool wrong = std::any_of(values.begin(), values.end(), [](const std::string& one) {
    return one.empty() || has_control(one);
  });
  if (wrong) table.wrong(key, "texts that are not empty, without line ends");
}

}  // namespace

void check_command(TableReader& table, std::string_view key,
                   const std::vector<std::string>& command) {
  if (command.empty()) return;
  const bool has_nul = std::any_of(command.begin(), command.end(), [](const std::string& word) {
    return word.find('\0') != std::string::npos;
  });
  // One text is no command line: nothing here splits it.
  const Json* value = table.find(key);
  const bool is_list = value != nullptr && value->is_array();
  if (!is_list || command.front().empty() || has_nul)
    table.wrong(key, "a list of words, of which the first is a program");
}

void check_service(TableReader& table, const ServiceName& service) {
  refuse_placeholder(table, "service", service.service, "the service's name in the compose file",
                     "service = \"machine-learning\"");
  if (!is_name(service.name)) {
    table.wrong("name", "a name of letters, digits, '.', '_' and '-'");
  }
  using enum ServiceKind;
  const std::vector<KeyOfKind> keys = {
      {"unit", !service.unit.empty(), {systemd, quadlet}},
      {"user", service.user, {systemd, quadlet}, false},
      {"file", !service.file.empty(), {compose}},
      {"service", !service.service.empty(), {compose}},
      {"start", !service.start.empty(), {commands}},
      {"stop", !service.stop.empty(), {commands}},
      {"status", !service.status.empty(), {commands}},
      {"logs", !service.logs.empty(), {commands}, false},
      {"pidfile", service.pidfile.has_value(), {commands}, false},
  };
  check_command(table, "start", service.start);
  check_command(table, "stop", service.stop);
  check_command(table, "status", service.status);
  check_command(table, "logs", service.logs);
  if (service.pidfile && (service.pidfile->empty() || has_control(*service.pidfile)))
    table.wrong("pidfile", "the name of a file");
  if (has_control(service.file)) table.wrong("file", "the name of a file");
  const std::string_view kind = to_string(service.kind);
  for (const KeyOfKind& key : keys) {
    if (belongs(key, service.kind) && key.required && !key.given) {
      table.fail(key.key, Errc::invalid,
                 fmt::format("expected it, because kind is \"{}\"; found nothing", kind),
                 fmt::format("add {}, or choose another kind", key.key));
    } else if (key.given && !belongs(key, service.kind)) {
      table.fail(key.key, Errc::invalid, fmt::format("is not a key of kind \"{}\"", kind),
                 fmt::format("remove {}, or choose another kind", key.key));
    }
  }
  if (!service.unit.empty() &&
      (service.unit.find('/') != std::string::npos || has_control(service.unit))) {
    table.wrong("unit", "the name of a unit, without a folder");
  }
}

void check_set(TableReader& table, const TypedSet& set) {
  if (set == TypedSet{}) {
    table.fail("", Errc::invalid, "expected at least one setting, found none",
               "write for instance set = { memory = \"8GiB\" }");
  }
  if (set.image && (set.image->empty() || has_control(*set.image) ||
                    set.image->find(' ') != std::string::npos)) {
    table.wrong("image", "the name of an image");
  }
  refuse_placeholder(table, "image", set.image.value_or(""), "the image to change to",
                     "set = { image = \"REGISTRY/NAME:1.2-rocm\" }, with this service's own name "
                     "and the tag to try");
  for (const auto& [name, value] : set.environment) {
    if (name == "NAME") {
      refuse_placeholder(table, "environment", value, "a variable to change",
                         "set = { environment = { HIP_VISIBLE_DEVICES = \"0\" } }");
    }
    if (!is_variable(name) || has_control(value)) {
      table.fail(
          "environment", Errc::invalid,
          fmt::format("expected names of letters, digits and '_', and values of one line; found {}",
                      name),
          "correct its name or its value");
    }
  }
  for (const auto& [name, value] : set.keys) {
    if (is_key_name(name) && !has_control(value)) continue;
    table.fail("keys", Errc::invalid,
               fmt::format("expected names and values of one line, found {}", name),
               "correct its name or its value");
  }
  TypedSet others = set;
  others.keys.clear();
  if (!set.keys.empty() && others != TypedSet{}) {
    table.fail("keys", Errc::invalid, "expected keys alone, found other settings beside them",
               "put them into a [[change]] of their own");
  }
  check_lines(table, "devices", set.devices);
  check_lines(table, "groups", set.groups);
  if (set.memory && set.memory->value == 0) table.wrong("memory", "more than nothing");
  if (!set.command) return;
  if (set.command->empty() || set.command->front().empty()) {
    table.wrong("command", "a program and its arguments");
  }
  if (std::any_of(set.command->begin(), set.command->end(), has_control)) {
    table.wrong("command", "words without line ends");
  }
}

void check_tune(TableReader& table, const TuneSetting& setting,
                const std::vector<TuneSetting>& earlier) {
  using As = TuneSetting::As;
  const bool is_key = setting.as == As::key;
  const bool fits = setting.as == As::environment ? is_variable(setting.name)
                    : is_key                      ? is_key_name(setting.name)
                                                  : setting.name.starts_with('-');
  if (!fits || has_control(setting.name)) {
    table.wrong("name", setting.as == As::option
                            ? "an option with its dashes, such as \"--workers\""
                        : is_key ? "the name in front of '='"
                                 : "the name of a variable; an option or a key needs as = \"…\"");
  }
  if (is_key && setting.file.empty()) {
    table.fail("file", Errc::invalid, "expected the file that has the key, found nothing",
               "add file = \"…\"");
  }
  if (has_control(setting.file) || setting.file.ends_with('/'))
    table.wrong("file", "the name of a file");
  const auto& values = setting.values;
  const bool bad = std::any_of(values.begin(), values.end(), [](const std::string& value) {
    return value.empty() || value.size() > 256 || has_control(value) || value.front() == '{' ||
           value.front() == '[';
  });
  constexpr std::size_t most_values = 64;
  if (values.empty() || values.size() > most_values || bad)
    table.wrong("values", "from 1 to 64 numbers or short texts to try, from little to much");
  const bool counts = setting.role != TuneSetting::Role::none;
  if (counts && !std::all_of(values.begin(), values.end(), is_count))
    table.wrong("values", "whole numbers from 1 to 1000000, since role says what they count");
  const std::set<std::string> different(values.begin(), values.end());
  if (different.size() != values.size()) table.wrong("values", "values that differ");
  for (const TuneSetting& other : earlier) {
    if (other.name == setting.name && other.file == setting.file)
      table.wrong("name", "each setting once");
  }
}

void check_change(TableReader& table, const FileChange& change) {
  if (change.file.empty()) {
    table.fail("file", Errc::invalid, "expected the name of the file to change, found nothing",
               "add file = \"/etc/…\"");
  }
  if (change.with && change.set) {
    table.fail("set", Errc::invalid, "expected with or set, found both",
               "write two [[change]] tables, or leave one out");
  }
  if (!change.with && !change.set) {
    table.fail("", Errc::invalid, "expected with or set, found neither",
               "add with = \"a file beside this one\", or set = { … }");
  }
  if (has_control(change.file) || change.file.ends_with('/'))
    table.wrong("file", "the name of a file");
  if (change.with && (change.with->empty() || has_control(*change.with)))
    table.wrong("with", "the name of a file");
}

void check_request(TableReader& table, const Request& request) {
  check_url(table, "url", request.url);
  if (request.body_file && (request.body_file->empty() || has_control(*request.body_file)))
    table.wrong("body_file", "the name of a file");
  if (!is_token(request.method)) table.wrong("method", "a method of HTTP, such as \"POST\"");
  for (const auto& [name, value] : request.headers) {
    if (is_token(name) && !has_control(value)) continue;
    table.fail("headers", Errc::invalid,
               fmt::format("expected names and values of HTTP headers, found {}", name),
               "correct its name or its value");
  }
}

void refuse_without_url(TableReader& table) {
  for (const std::string_view key : {"method", "body_file", "headers", "expect_status"}) {
    if (!table.has(key)) continue;
    table.fail(key, Errc::invalid, "belongs to a smoke test with a url, and there is none",
               fmt::format("add url, or remove {}", key));
  }
}

void check_smoke(TableReader& table, const Smoke& smoke) {
  check_command(table, "command", smoke.command);
  if (smoke.request && !smoke.command.empty()) {
    table.fail("command", Errc::invalid, "expected url or command, found both",
               "leave one of them out");
  }
  if (!smoke.request && smoke.command.empty()) {
    table.fail("", Errc::invalid,
               "expected url or command, found neither: only a real request proves anything",
               "add url = \"http://127.0.0.1:…\" with a request that loads the model");
  }
  for (const std::string& pointer : smoke.ignore) check_pointer(table, "ignore", pointer);
  if (!smoke.expect_text) return;
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 pattern(*smoke.expect_text, options);
  if (pattern.ok()) return;
  table.fail("expect_text", Errc::invalid,
             fmt::format("expected a regular expression (RE2): {}", pattern.error()),
             "correct the expression; in TOML, '…' keeps backslashes as they are");
}

void check_url(TableReader& table, std::string_view key, const std::string& url) {
  refuse_placeholder(table, key, url, "a URL that the service answers",
                     fmt::format("{} = \"http://127.0.0.1:3003/ping\"", key));
  const std::string wanted = fault_of_url(url);
  if (wanted.empty()) return;
  table.fail(key, Errc::invalid, "expected a URL, " + wanted,
             fmt::format("write for instance {} = \"http://127.0.0.1:3003/ping\"", key));
}

void check_pointer(TableReader& table, std::string_view key, const std::string& pointer) {
  if (is_pointer(pointer)) return;
  table.fail(
      key, Errc::invalid,
      fmt::format("expected JSON pointers (RFC 6901), which begin with '/'; found {}", pointer),
      "write for instance \"/faces/0/score\"");
}

}  // namespace headroom::deploy
