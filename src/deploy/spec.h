// SPDX-License-Identifier: Apache-2.0
// SERVICE.toml as values: which service, what is to change, and what it must do before the change
// is called good. Keys and defaults are docs/deploy.md's. Nothing here opens a file: names of files
// stay as they were written, and are relative to SERVICE.toml.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace headroom::deploy {

enum class ServiceKind : std::uint8_t { systemd, quadlet, compose, commands };

// Which service, and how it is started, stopped and asked.
struct ServiceName {
  std::string name;  // Letters, digits, '.', '_', '-': it is part of the names of files.
  ServiceKind kind = ServiceKind::systemd;
  bool user = false;                     // The user's own service manager (systemd, quadlet).
  std::string unit;                      // "photos-ml.service" (systemd, quadlet).
  std::string file;                      // "compose.yaml" (compose).
  std::string service;                   // Its name in that file (compose).
  std::vector<std::string> start, stop;  // (commands)
  std::vector<std::string> status;       // Ends with 0 while the service runs (commands).
  std::vector<std::string> logs;         // Prints its log; may be empty (commands).
  std::optional<std::string> pidfile;    // Tells the process of a service that runs (commands).
};

// What a unit, a quadlet or a compose service is to have. What is not named stays as it is:
// variables, devices and groups are added to those that are there, or replace the one of that name.
struct TypedSet {
  std::optional<std::string> image;
  std::map<std::string, std::string> environment;  // Values are literal: nothing in them expands.
  std::vector<std::string> devices;                // "/dev/kfd", "/dev/dri:/dev/dri:rw".
  std::vector<std::string> groups;                 // "render", "44", "keep-groups".
  std::optional<Bytes> memory;                     // The limit of the whole service.
  std::optional<std::vector<std::string>> command;
  // Of a plain file of "name = value" lines; then nothing else is set.
  std::map<std::string, std::string> keys;

  bool operator==(const TypedSet&) const = default;
};

// One [[change]]: the whole file, or single settings in it. Exactly one of the two is there.
struct FileChange {
  std::string file;
  std::optional<std::string> with;
  std::optional<TypedSet> set;
};

struct Request {
  std::string url;  // http or https, with a host and without a user's name or password.
  std::string method = "GET";
  std::optional<std::string> body_file;
  std::map<std::string, std::string> headers;
};

// How it is known that the service is up. Neither: it is once the service runs and, if the smoke
// test has a URL, its port takes connections.
struct Health {
  std::optional<std::string> url;    // Healthy: any status from 200 to 399.
  std::vector<std::string> command;  // Healthy: it ends with 0.
  double timeout_s = 60;             // From the start until the first time.
};

struct ExpectedValue {
  std::string pointer;  // RFC 6901; "" is the whole document.
  std::string json;     // The value, as JSON text.
};

// What is asked of the service, as often and as much at once as its users would.
struct Smoke {
  std::optional<Request> request;  // Exactly one of these two is there.
  std::vector<std::string> command;
  std::uint64_t expect_status = 200;
  std::vector<ExpectedValue> expect_json;
  std::optional<std::string> expect_text;  // RE2; found anywhere in the answer.
  std::uint64_t repeat = 20;               // In all.
  std::uint64_t concurrency = 4;           // At once; at most `repeat`.
  double timeout_s = 120;                  // Of each.
  bool same_answers = false;               // As the baseline's.
  double tolerance = 0.01;                 // Relative, of numbers.
  std::vector<std::string> ignore;         // Pointers: what is below them is not compared.
};

struct Expect {
  bool gpu = false;
  double faster = 0;            // Ratio of medians, baseline by candidate, at least; 0: not asked.
  std::optional<Bytes> memory;  // Peak of the service's processes. At most one of these two.
  std::optional<std::string> job;  // A job file whose plan says the same.
};

struct Watch {
  double seconds = 600;
  std::uint64_t crashes = 0;  // So many are borne.
  double hang_s = 60;
};

// One [[tune]]: a setting that `headroom tune` may vary.
struct TuneSetting {
  enum class As : std::uint8_t { environment, option, key };  // As in TypedSet.
  // What is known of it beforehand: workers and threads multiply each other and share the cores,
  // and each worker has the memory of one.
  enum class Role : std::uint8_t { none, workers, threads, batch };
  std::string name;  // Of an option with its dashes.
  As as = As::environment;
  std::string file;                 // Empty: the file that a change of the service is made in.
  std::vector<std::string> values;  // From little to much; at least one.
  Role role = Role::none;
};

struct ServiceSpec {
  ServiceName service;
  std::vector<FileChange> changes;  // At least one, where nothing is to be tuned.
  std::vector<TuneSetting> tune;  // May be empty: then data/service_knobs.toml says what there is.
  Health health;
  Smoke smoke;
  Expect expect;
  Watch watch;
};

// Fails with the line and the key of the first mistake: unknown keys, kinds without their keys,
// more than one way to ask, URLs, pointers and patterns that are none, numbers out of their range.
// Passwords in a URL are not repeated by the message. `file` is what messages call the text.
Result<ServiceSpec> parse_service_spec(std::string_view text, const std::string& file);

std::string_view to_string(ServiceKind kind);
std::string_view to_string(TuneSetting::As as);
std::string_view to_string(TuneSetting::Role role);

}  // namespace headroom::deploy
