// SPDX-License-Identifier: Apache-2.0
#include "faces/settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/text.h"

namespace headroom::faces {
namespace {

struct Choice {
  std::string_view word;
  std::uint32_t value;
};
constexpr Choice backends[] = {{"hip", HEADROOM_BACKEND_HIP},
                               {"cuda", HEADROOM_BACKEND_CUDA},
                               {"host", HEADROOM_BACKEND_HOST}};
constexpr Choice virtual_memories[] = {{"as-tested", HEADROOM_VIRTUAL_MEMORY_AS_TESTED},
                                       {"off", HEADROOM_VIRTUAL_MEMORY_OFF},
                                       {"required", HEADROOM_VIRTUAL_MEMORY_REQUIRED}};
constexpr Choice plannings[] = {{"background", HEADROOM_PLANNING_BACKGROUND},
                                {"inline", HEADROOM_PLANNING_INLINE},
                                {"off", HEADROOM_PLANNING_OFF}};

std::optional<std::string> value_of(const Environment& environment, const char* name) {
  auto value = environment(name);
  if (value && value->empty()) return std::nullopt;
  return value;
}

Result<std::optional<std::uint32_t>> parse_choice(const Environment& environment, const char* name,
                                                  std::span<const Choice> choices) {
  const auto value = value_of(environment, name);
  if (!value) return std::optional<std::uint32_t>();
  std::string words;
  for (const Choice& choice : choices) {
    if (choice.word == *value) return std::optional(choice.value);
    words += (words.empty() ? "" : ", ") + std::string(choice.word);
  }
  return Error{Errc::invalid,
               fmt::format("expected one of {} in {}, found \"{}\"", words, name, *value),
               fmt::format("unset {}", name)};
}

Result<std::uint64_t> parse_amount(const Environment& environment, const char* name) {
  const auto value = value_of(environment, name);
  if (!value) return std::uint64_t{0};
  const auto bytes = parse_bytes(*value);
  if (!bytes) return Error(bytes.error()).in(name);
  if (bytes->value == 0)
    return Error{Errc::invalid, fmt::format("expected an amount of memory in {}, found 0", name),
                 fmt::format("unset {}", name)};
  return bytes->value;
}

Error no_total(std::string_view part) {
  return {Errc::invalid,
          fmt::format("expected PCI-ADDRESS=BYTES in {}, found \"{}\"", totals_variable, part),
          fmt::format("unset {}; headroom run --allocator sets it", totals_variable)};
}

}  // namespace

Result<Totals> parse_totals(std::string_view text) {
  Totals totals;
  if (text.empty() || text == "off") return totals;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == 0 || equals == std::string_view::npos) return no_total(part);
    const auto bytes = parse_bytes(part.substr(equals + 1));
    if (!bytes || bytes->value == 0) return no_total(part);
    totals[to_lower(part.substr(0, equals))] = bytes->value;
  }
  return totals;
}

Result<Settings> parse_settings(const Environment& environment) {
  Settings settings;
  HEADROOM_TRY(settings.backend, parse_choice(environment, "HEADROOM_ALLOCATOR_BACKEND", backends));
  HEADROOM_TRY(settings.capacity_bytes, parse_amount(environment, "HEADROOM_ALLOCATOR_CAPACITY"));
  HEADROOM_TRY(const auto memory,
               parse_choice(environment, "HEADROOM_ALLOCATOR_VIRTUAL_MEMORY", virtual_memories));
  HEADROOM_TRY(const auto planning,
               parse_choice(environment, "HEADROOM_ALLOCATOR_PLANNING", plannings));
  settings.virtual_memory = memory.value_or(settings.virtual_memory);
  settings.planning = planning.value_or(settings.planning);
  settings.self_tests = value_of(environment, "HEADROOM_ALLOCATOR_SELF_TESTS");
  settings.recordings = value_of(environment, "HEADROOM_ALLOCATOR_RECORDINGS").value_or("");
  settings.budgets = value_of(environment, "HEADROOM_ALLOCATOR_BUDGETS").value_or("");
  HEADROOM_TRY(settings.share_bytes, parse_amount(environment, "HEADROOM_ALLOCATOR_SHARE"));
  settings.guard = value_of(environment, "HEADROOM_ALLOCATOR_GUARD").value_or("");
  HEADROOM_TRY(settings.host_bytes, parse_amount(environment, "HEADROOM_ALLOCATOR_HOST"));
  HEADROOM_TRY(settings.totals, parse_totals(value_of(environment, totals_variable).value_or("")));
  if (settings.backend == HEADROOM_BACKEND_HOST && settings.capacity_bytes == 0)
    return Error{Errc::invalid, "expected a capacity for the host's memory, found none",
                 "set HEADROOM_ALLOCATOR_CAPACITY"};
  return settings;
}

std::optional<std::string> read_variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here sets any.
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string recording_path(const Settings& settings, int device) {
  if (settings.recordings.empty()) return "";
  return fmt::format("{}/{}-gpu{}.flight", settings.recordings, ::getpid(), device);
}

headroom_allocator_options make_options(const Settings& settings, const std::string& recording) {
  headroom_allocator_options options = HEADROOM_ALLOCATOR_OPTIONS_INIT;
  options.virtual_memory = settings.virtual_memory;
  options.planning = settings.planning;
  options.self_test_path = settings.self_tests ? settings.self_tests->c_str() : nullptr;
  options.flight_recorder_path = text_or_null(recording);
  options.guard = text_or_null(settings.guard);
  return options;
}

const char* text_or_null(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

}  // namespace headroom::faces
