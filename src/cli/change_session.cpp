// SPDX-License-Identifier: Apache-2.0
#include "cli/change_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/surroundings.h"
#include "machine/clock.h"
#include "machine/user.h"

namespace headroom::cli {
namespace {

bool needs_root(const plan::Change& change) {
  const auto needs = [](const plan::Step& step) { return step.needs_root; };
  return std::any_of(change.steps.begin(), change.steps.end(), needs) ||
         std::any_of(change.on_confirm.begin(), change.on_confirm.end(), needs);
}

}  // namespace

ChangeSession::ChangeSession(machine::WritableFiles files,
                             std::unique_ptr<machine::Programs> programs)
    : files_(std::move(files)), programs_(std::move(programs)), now_(machine::utc_now()) {
  journals_.emplace_back(files_, std::string(change::system_journal));
}

Result<std::unique_ptr<ChangeSession>> ChangeSession::open(const std::string& root,
                                                           const Context& context) {
  HEADROOM_TRY(auto files, machine::WritableFiles::open(root));
  HEADROOM_TRY(auto programs, machine::make_programs(root));
  std::unique_ptr<ChangeSession> session(new ChangeSession(std::move(files), std::move(programs)));
  // Root's own is the system's, unless XDG_STATE_HOME sent deployments elsewhere.
  const std::string own = deployments_folder(context);
  if (session->files_.is_real() && !own.empty() && own != change::system_journal) {
    session->journals_.emplace_back(session->files_, own);
  }
  return session;
}

namespace {

// proc(5), /proc/stat: "btime SECONDS".
std::int64_t boot_time(const machine::WritableFiles& files) {
  const auto text = files.read("/proc/stat");
  if (!text) return 0;
  for (const std::string_view line : split_lines(*text)) {
    if (line.starts_with("btime ")) return parse_i64(line.substr(6)).value_or(0);
  }
  return 0;
}

}  // namespace

change::Doors ChangeSession::doors() {
  return {files_, *programs_, now_, 0};
}

change::Doors ChangeSession::doors_for(const plan::Record& record) {
  const auto boot_id = files_.read("/proc/sys/kernel/random/boot_id");
  const bool rebooted = boot_id && !record.boot_id.empty() && trim(*boot_id) != record.boot_id;
  return {files_, *programs_, now_, rebooted ? boot_time(files_) : 0};
}

change::Journal& ChangeSession::journal_for(const plan::Change& change) {
  const bool is_own = journals_.size() > 1 && !machine::runs_as_root() && !needs_root(change);
  return is_own ? journals_.back() : journals_.front();
}

Result<ChangeSession::Found> ChangeSession::find(std::string_view id,
                                                 bool (*wanted)(const plan::Record&),
                                                 std::string_view what) {
  Error unread{Errc::not_found, "", ""};
  // Of several reasons why nothing was found, that root would have seen it is the one to say.
  const auto note = [&unread](const Error& error) {
    if (unread.code != Errc::no_permission) unread = error;
  };
  for (change::Journal& journal : journals_) {
    if (!id.empty()) {
      auto record = journal.read(id);
      if (record) return Found{&journal, *std::move(record)};
      note(record.error());
      continue;
    }
    auto listing = journal.read_all();
    if (!listing) {
      note(listing.error());
      continue;
    }
    // One that cannot be read may be the very one that is meant.
    if (!listing->unreadable.empty()) return listing->unreadable.front();
    for (plan::Record& record : listing->records) {
      if (wanted(record)) return Found{&journal, std::move(record)};
    }
  }
  if (!unread.message.empty()) return unread;
  if (what.starts_with("a ")) what.remove_prefix(2);
  return Error{Errc::not_found, fmt::format("headroom's journal has no {}", what),
               "headroom history"};
}

}  // namespace headroom::cli
