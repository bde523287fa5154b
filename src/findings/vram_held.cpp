// SPDX-License-Identifier: Apache-2.0
// vram-held-by-other: living processes really hold the memory. This must not be taken for
// fragmentation: nothing inside the new job can help, only the holder can.
#include <fmt/format.h>

#include <algorithm>

#include "base/shell_quote.h"
#include "base/text.h"
#include "facts/cgroup.h"
#include "facts/desktop.h"
#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

Bytes of(const facts::Holder& holder, bool in_gtt) {
  const auto& amount = in_gtt ? holder.gtt : holder.vram;
  return amount ? *amount : Bytes{};
}

// Holders that are too small to matter are shown in the table but not blamed.
bool matters(const facts::Holder& holder, bool in_gtt, const MemoryUse& use) {
  return share(of(holder, in_gtt), use.capacity) >= 0.05;
}

std::string name_of(const facts::Holder& holder) {
  std::string pid = fmt::format("PID {}", holder.pid);
  if (!holder.user.empty() && holder.user != "root") pid += ", user " + holder.user;
  return holder.command.empty() ? pid : holder.command + " (" + pid + ")";
}

// Each is a choice: whoever runs it may still need it. `where` says on which of several GPUs.
Step ask_to_stop(const facts::Holder& holder, const std::string& where) {
  const std::string who = name_of(holder) + where;
  if (facts::is_desktop(holder.command)) {
    return sentence(fmt::format(
        "{} draws the desktop. To have this memory for a job, connect the screen to another GPU, "
        "or log out and use the machine over SSH",
        who));
  }
  if (const std::string_view number = facts::slurm_number(holder.job); !number.empty()) {
    return sentence_with(
        fmt::format("If nobody needs the job of {} any more, cancel it; what it has not saved is "
                    "lost",
                    who),
        "scancel " + std::string(number));
  }
  const bool has_command = holder.engine == "docker" || holder.engine == "podman";
  if (!holder.container.empty() && has_command) {
    return sentence_with(fmt::format("If nobody needs the container of {} now, stop it", who),
                         holder.engine + " stop " + shell_operand(holder.container));
  }
  if (!holder.container.empty()) {
    return sentence(fmt::format("If nobody needs the container of {} now, stop it ({} {})", who,
                                holder.engine.empty() ? "container" : holder.engine,
                                holder.container));
  }
  // Whose service it is, the system's or a user's own, reclaim finds out.
  if (holder.unit.ends_with(".service")) {
    return sentence_with(
        fmt::format("If nobody needs {} now, the service of {}, stop it", holder.unit, who),
        fmt::format("headroom reclaim --pid {} --apply", holder.pid));
  }
  return sentence_with(
      fmt::format("If you no longer need what {} computes, end it; what it has not saved is lost",
                  who),
      fmt::format("kill {}", holder.pid));
}

std::string join_names(const std::vector<std::string>& names) {
  return names.size() <= 3 ? join(names, ", ")
                           : fmt::format("{} and {} more", names[0], names.size() - 1);
}

struct Holders {
  std::vector<std::string> names;
  std::vector<std::string> pids;
  Bytes inside, outside;  // Held by visible processes, and by others.
  Bytes named;            // Held by those of `names`.
  std::vector<Step> fixes;
};

Holders sum_up(const facts::Gpu& gpu, const MemoryUse& use, bool one_of_many, Finding& finding) {
  Holders holders;
  const std::string where = one_of_many ? " on " + gpu.pci : "";
  const bool in_gtt = on_gtt(gpu);
  for (const facts::Holder& holder : gpu.holders) {
    (holder.visible ? holders.inside : holders.outside) += of(holder, in_gtt);
    if (!matters(holder, in_gtt, use)) continue;
    finding.evidence.push_back(
        {holder.source.path, holder.source.line, holder.source.text,
         fmt::format("{} holds {}", name_of(holder), to_string(of(holder, in_gtt)))});
    if (holder.visible) {
      holders.names.push_back(name_of(holder));
      holders.named += of(holder, in_gtt);
      holders.fixes.push_back(ask_to_stop(holder, where));
    } else {
      holders.pids.push_back(std::to_string(holder.pid));
    }
  }
  return holders;
}

// Of all GPUs that are crowded: the host's steps are then the same for each of them, and are said
// once.
std::vector<std::string> outside_pids(const facts::Facts& facts) {
  std::vector<std::string> pids;
  for (const facts::Gpu& gpu : facts.gpus) {
    const auto use = memory_use(gpu);
    if (!use || share(*use->used, use->capacity) < crowded_share) continue;
    for (const facts::Holder& holder : gpu.holders) {
      const std::string pid = std::to_string(holder.pid);
      const bool known = std::find(pids.begin(), pids.end(), pid) != pids.end();
      if (!holder.visible && !known && matters(holder, on_gtt(gpu), *use)) pids.push_back(pid);
    }
  }
  return pids;
}

Step end_outside(const std::vector<std::string>& pids) {
  const bool one = pids.size() == 1;
  return sentence_with(
      fmt::format("On the host, only if nobody needs what {} (what {} not saved is lost): stop {} "
                  "service (systemctl stop UNIT) or {} container, or end the process{}",
                  one ? "it computes" : "they compute", one ? "it has" : "they have",
                  one ? "its" : "their", one ? "its" : "their", one ? "" : "es"),
      "kill " + join(pids, " "));
}

void explain_outside(const facts::Facts& facts, const facts::Gpu& gpu, const Holders& holders,
                     Finding& finding) {
  finding.reasons.emplace_back(
      "The holders run outside this container, and its /proc does not show them. Looking for "
      "processes or killing python from in here changes nothing.");
  if (!holders.pids.empty()) {
    const auto pids = outside_pids(facts);
    finding.fix.push_back(
        sentence_with("On the host, see which processes they are (these are the host's PIDs)",
                      "ps -o pid,user,unit,args -p " + join(pids, ",")));
    finding.fix.push_back(end_outside(pids));
  } else {
    finding.fix.push_back(
        on_the_host(command("sudo fuser -v /dev/kfd /dev/dri/renderD" +
                                (gpu.render_minor ? std::to_string(*gpu.render_minor) : "*"),
                            "(shows who has it open)")));
  }
}

Claim make_claim(const facts::Facts& facts, const MemoryUse& use, const Holders& holders) {
  const bool named = holders.inside + holders.outside >= Bytes{use.used->value / 2};
  Claim claim;
  claim.verdict = share(*use.used, use.capacity) >= full_share ? Verdict::broken : Verdict::limited;
  claim.confidence = named ? 0.95 : 0.55;
  if (!holders.pids.empty()) {
    claim.alternatives.push_back(
        {"vram-orphaned", 0.05,
         "on the host: ls -d /proc/" + holders.pids.front() + "   (gone: it is orphaned)"});
  } else if (!named) {
    claim.alternatives.push_back({"vram-orphaned", 0.35,
                                  facts.machine.in_container()
                                      ? "on the host: sudo fuser -v /dev/kfd /dev/dri/*"
                                      : "sudo fuser -v /dev/kfd /dev/dri/*"});
  }
  return claim;
}

std::string make_title(const facts::Facts& facts, const facts::Gpu& gpu, const MemoryUse& use,
                       const Holders& holders) {
  std::string who = "in use, and headroom cannot see from here who holds it";
  if (!holders.names.empty() && holders.inside >= holders.outside) {
    // The rest is a desktop's, or the driver's own.
    const std::string share = to_string(holders.named);
    who = share == to_string(*use.used)
              ? "held by " + join_names(holders.names)
              : fmt::format("in use, {} of it by {}", share, join_names(holders.names));
  } else if (facts.machine.in_container()) {
    who = "held by processes outside this container";
    if (!holders.pids.empty()) who += " (host PID " + join(holders.pids, ", ") + ")";
  }
  return fmt::format("{} of {} on {} is {}", to_string(*use.used), to_string(use.capacity),
                     title_of(gpu), who);
}

// If every process is visible, memory of dead processes, or of none, is left to vram-orphaned.
bool held_by_the_living(const facts::Facts& facts, const facts::Gpu& gpu, const MemoryUse& use) {
  if (facts.machine.in_container() || !facts.machine.processes_visible) return true;
  const bool in_gtt = on_gtt(gpu);
  Bytes dead;
  for (const facts::Holder& holder : gpu.holders) {
    if (!holder.visible) dead += of(holder, in_gtt);
  }
  const auto& unowned = gpu.accounting.unattributed;
  if (facts.holders_complete && unowned) dead += *unowned;
  return dead.value < use.used->value / 2;
}

std::vector<Finding> find(const Subject& subject) {
  const facts::Facts& facts = subject.facts;
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : facts.gpus) {
    const auto use = memory_use(gpu);
    if (!use || share(*use->used, use->capacity) < crowded_share) continue;
    if (!held_by_the_living(facts, gpu, *use)) continue;
    // A desktop alone fills a small carve-out; then the carve-out is to blame.
    if (use->capacity < 2_GiB) continue;
    Finding finding;
    finding.id = "vram-held-by-other";
    finding.gpu = gpu.pci;
    finding.evidence = {show(use->used, fmt::format("{} of {} in use", to_string(*use->used),
                                                    to_string(use->capacity)))};
    const Holders holders = sum_up(gpu, *use, facts.gpus.size() > 1, finding);
    finding.title = make_title(facts, gpu, *use, holders);
    finding.reasons = {
        "This is not fragmentation. Fragmentation is memory that the failing process itself has "
        "reserved and cannot use, and it ends with that process. The driver counts this memory as "
        "in use before a new job starts, so no allocator setting can give it back."};
    if (facts.machine.in_container() &&
        holders.inside < holders.outside + Bytes{use->used->value / 2}) {
      explain_outside(facts, gpu, holders, finding);
    }
    finding.fix.insert(finding.fix.end(), holders.fixes.begin(), holders.fixes.end());
    if (finding.fix.empty()) {
      finding.fix = {command("sudo headroom check", "(root sees every process)"),
                     command("sudo fuser -v /dev/kfd /dev/dri/*")};
    }
    finding.next = NextCommand::reclaim();
    finding.claim = make_claim(facts, *use, holders);
    finding.severity =
        finding.claim->verdict == Verdict::broken ? Severity::error : Severity::warning;
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule vram_held_rule = {
    .id = "vram-held-by-other",
    .meaning = "Running processes hold the memory, perhaps outside this container.",
    .why =
        "The error is \"out of memory\", and people blame fragmentation. But an allocator has "
        "nothing to do with memory that was in use before the job started. Inside a container its "
        "holder cannot even be seen.",
    .fix = "Stop the holder. If it runs on the host, stop it there.",
    .find = find,
};

}  // namespace headroom::findings
