// SPDX-License-Identifier: Apache-2.0
// Every package manager's log, Docker's list of images, and the text that a capture keeps of them:
// whatever is made of the input survives its own text, and every line as a moment.
#include "base/text.h"
#include "facts/docker_images.h"
#include "facts/machine_history.h"
#include "facts/moment.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  using namespace headroom::fuzz;
  const std::string_view text = to_text(data, size);
  for (const auto parse : {facts::parse_apt_history, facts::parse_dpkg_log, facts::parse_pacman_log,
                           facts::parse_dnf_rpm_log, facts::parse_zypp_history}) {
    facts::MachineHistory history;
    history.changes = parse(text);
    for (const facts::PackageChange& one : history.changes) {
      require(facts::parse_day(one.time).has_value());
    }
    facts::select_changes(history.changes, "2026-05-10", 14);
    const std::string kept = facts::to_text(history);
    require(facts::to_text(facts::parse_machine_history(kept)).size() <= kept.size());
  }
  for (const facts::DockerImage& one : facts::parse_docker_repositories(text)) {
    require(!one.id.empty() || !one.tag.empty() || !one.digest.empty());
  }
  const std::string again = facts::to_text(facts::parse_machine_history(text));
  require(facts::to_text(facts::parse_machine_history(again)) == again);
  for (const std::string_view line : split_lines(text)) {
    const std::string moment = facts::parse_log_moment(line, "2026-05-10T12:00:00");
    require(moment.empty() || facts::parse_day(moment).has_value());
  }
  return 0;
}
