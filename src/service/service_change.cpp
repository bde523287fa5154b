// SPDX-License-Identifier: Apache-2.0
#include "service/service_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/shell_quote.h"
#include "base/text.h"
#include "change/change_machine.h"
#include "deploy/change.h"
#include "machine/clock.h"
#include "machine/services/paths.h"
#include "machine/user_files.h"

namespace headroom::service {
namespace {

constexpr std::size_t longest_file = std::size_t{16} << 20U;

// nullopt: there is no such file.
Result<std::optional<std::string>> read_before(const std::string& path,
                                               const machine::Files* captured) {
  if (captured != nullptr) {
    auto text = captured->read(path, longest_file);
    if (text) return std::optional(*std::move(text));
  }
  auto text = machine::read_file(path, longest_file);
  if (text) return std::optional(*std::move(text));
  if (text.error().code == Errc::not_found) return std::optional<std::string>();
  return std::move(text).error();
}

// "20261121T223011Z-…" in a form that can be compared: the change engine's ids begin with the time.
std::string id_time(const std::string& id) {
  return id.substr(0, id.find_first_of(".-"));
}

// "20261121T223011Z" of a time since 1970, in UTC (Howard Hinnant, "chrono-Compatible Low-Level
// Date Algorithms", civil_from_days).
std::string id_time_of(std::int64_t seconds) {
  const std::int64_t days = seconds / 86400, rest = seconds % 86400;
  const std::int64_t z = days + 719468, era = z / 146097, day_of_era = z % 146097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted = (5 * day_of_year + 2) / 153;
  const std::int64_t day = day_of_year - (153 * shifted + 2) / 5 + 1;
  const std::int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
  const std::int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", year, month, day, rest / 3600,
                     rest / 60 % 60, rest % 60);
}

// The file that is to take the other one's place.
Result<std::string> read_replacement(const std::string& path, const std::string& file) {
  auto text = machine::read_file(path, longest_file);
  if (text) return text;
  Error error = std::move(text).error().in(fmt::format("expected what is to replace {}", file));
  if (error.next.empty()) {
    error.next = fmt::format("write the new configuration into {}; nothing was changed", path);
  }
  return error;
}

}  // namespace

std::string absolute_in(const std::string& folder, const std::string& path) {
  if (path.starts_with('/')) return path;
  return folder + "/" + (path.starts_with("./") ? path.substr(2) : path);
}

Result<plan::Change> read_change(const deploy::ServiceSpec& spec, const std::string& folder,
                                 const machine::Files* captured, std::vector<std::string> words) {
  std::vector<deploy::ChangeInput> inputs;
  for (const deploy::FileChange& change : spec.changes) {
    deploy::ChangeInput input;
    input.change = change;
    const std::string& file = change.file.empty() ? spec.service.file : change.file;
    // The service manager is told of the file by the name that it has: links stay links, and the
    // change engine follows them.
    input.path = absolute_in(folder, file);
    HEADROOM_TRY(input.before, read_before(input.path, captured));
    if (change.with) {
      HEADROOM_TRY(input.replacement, read_replacement(absolute_in(folder, *change.with), file));
    }
    inputs.push_back(std::move(input));
  }
  HEADROOM_TRY(auto change, deploy::make_change(spec, inputs, std::move(words)));
  for (plan::Step& step : change.steps) {
    const auto* edit = std::get_if<plan::FileEdit>(&step.action);
    if (edit != nullptr) step.needs_root = !machine::may_replace(edit->path);
  }
  return change;
}

Status check_rights(const plan::Change& change, const std::vector<std::string>& words) {
  for (const plan::Step& step : change.steps) {
    const auto* edit = std::get_if<plan::FileEdit>(&step.action);
    if (edit == nullptr || machine::may_replace(edit->path)) continue;
    return Error{
        Errc::no_permission,
        fmt::format("expected permission to change {}, which this user does not have; nothing was "
                    "done",
                    edit->path),
        "sudo " + shell_line(words)};
  }
  return Done{};
}

ServiceChange::ServiceChange(machine::WritableFiles& files,
                             std::unique_ptr<machine::Programs> programs, const std::string& state,
                             const std::string& service)
    : files_(files),
      programs_(std::move(programs)),
      journal_(files, state),
      name_(deploy::change_name(service)) {}

Result<std::unique_ptr<ServiceChange>> ServiceChange::open(machine::WritableFiles& files,
                                                           const std::string& state,
                                                           const std::string& service) {
  HEADROOM_TRY(auto programs, machine::make_programs("/"));
  return std::unique_ptr<ServiceChange>(
      new ServiceChange(files, std::move(programs), state, service));
}

change::Doors ServiceChange::doors() const {
  return {files_, *programs_, machine::utc_now(), 0};
}

Status ServiceChange::check_ready() const {
  HEADROOM_TRY(const auto listing, journal_.read_all());
  for (const Error& error : listing.unreadable) return error;
  for (const plan::Record& record : listing.records) {
    if (!plan::is_interrupted(record.state)) continue;
    return Error{Errc::busy,
                 fmt::format("expected every earlier change to be finished; {} was interrupted; "
                             "nothing was done",
                             record.id),
                 plan::undo_command(record)};
  }
  return Done{};
}

deploy::Event ServiceChange::apply(const plan::Change& change) {
  const auto boot_id = files_.read("/proc/sys/kernel/random/boot_id");
  const std::string now = machine::utc_now();
  const auto record = change::apply(doors(), journal_, change,
                                    boot_id ? std::string(trim(*boot_id)) : std::string());
  if (record) return deploy::event::Applied{record->id};
  deploy::event::NotApplied failed{record.error(), true, ""};
  // Whether taking it back failed too, the journal knows.
  const auto listing = journal_.read_all();
  if (!listing) return failed;
  for (const plan::Record& one : listing->records) {
    if (one.change.fix != name_ || !plan::is_in_force(one.state) || one.made < now) continue;
    failed.taken_back = false;
    failed.change_id = one.id;
  }
  return failed;
}

deploy::Event ServiceChange::undo(const std::string& id, const std::string& why) {
  const auto record = journal_.read(id);
  if (record && record->state == plan::State::undone) return deploy::event::Undone{};
  auto undone = change::undo(doors(), journal_, id, why);
  if (!undone) return deploy::event::NotUndone{undone.error()};
  return deploy::event::Undone{std::move(undone->left)};
}

Result<deploy::event::Found> ServiceChange::find(const std::string& id,
                                                 std::int64_t began_s) const {
  using Change = deploy::event::Found::Change;
  HEADROOM_TRY(const auto listing, journal_.read_all());
  for (const Error& error : listing.unreadable) return error;
  const std::string began = id_time_of(began_s);
  for (const plan::Record& record : listing.records) {  // Newest first.
    const bool is_it =
        id.empty() ? record.change.fix == name_ && id_time(record.id) >= began : record.id == id;
    if (!is_it) continue;
    if (!plan::is_in_force(record.state)) return deploy::event::Found{Change::none, record.id};
    return deploy::event::Found{
        plan::is_interrupted(record.state) ? Change::partly : Change::in_force, record.id};
  }
  return deploy::event::Found{};
}

std::optional<plan::Change> ServiceChange::read(const std::string& id) const {
  if (id.empty()) return std::nullopt;
  auto record = journal_.read(id);
  if (!record) return std::nullopt;
  return std::move(record->change);
}

}  // namespace headroom::service
