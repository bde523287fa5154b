// SPDX-License-Identifier: Apache-2.0
// What it would take to get GPU memory back: every rung with who dies by it, whether it can work
// here, and the commands. A value; reclaim/ carries it out, report/ prints it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "facts/facts.h"
#include "facts/occupancy.h"
#include "knowledge/gpu_tables.h"
#include "plan/reclaim/measurement.h"
#include "plan/reclaim/rung.h"

namespace headroom::plan {

struct ReclaimOptions {
  std::optional<Bytes> free;  // How much is needed; else everything that the chosen and the dead
                              // hold.
  std::vector<std::uint64_t> pids;
  std::vector<std::string> containers;  // An id's first digits, or a name.
  std::vector<std::string> units;       // With or without ".service".
  bool all = false;                     // Every holder that may be ended at all.
  bool include_desktop = false;
  Rung up_to = Rung::ask;
  std::uint64_t grace_s = 10;  // For one that was asked or killed, before it counts as ignoring it.
};

// Who runs this.
struct Caller {
  bool root = false;
  std::uint64_t uid = 0;
  std::vector<std::string> words;  // The command line, without --apply, --up-to and the choice.
  bool elsewhere = false;          // What is looked at is not the machine that this runs on.
};

struct ReclaimSubject {
  const facts::Facts& facts;
  const facts::Occupancy& occupancy;
  const knowledge::GpuTables& tables;
  const ReclaimOptions& options;
  const Caller& caller;
};

// A holder that may be ended.
struct Target {
  Held held;
  std::string why;          // "named by --pid", "its launcher is gone".
  bool needs_root = false;  // It belongs to somebody else.
  char state = '?';
  bool left_behind = false;  // Nobody named it: its launcher is gone.
};

// A holder that is left alone.
struct Spared {
  Held held;
  std::string why;
  std::string choose;  // What to add to the command line to end it; empty: it cannot be chosen.
  bool needs_root = false;  // To end it.
  // It is part of the desktop, so to choose it takes --include-desktop.
  bool of_desktop = false;
  std::string named = {};  // The word that named it all the same, "--pid 1893"; empty: none did.
};

// A unit or container that targets belong to.
struct Service {
  std::string name;               // "ollama.service", "docker 0123456789ab".
  std::string unit, container;    // As in Held.
  std::vector<std::string> argv;  // Stops it; returns before it has stopped, or within seconds.
  std::string shown;              // The same for a person, with sudo where it takes that.
  std::vector<std::uint64_t> pids;
  std::string refused;  // Why it is not stopped by us; empty: it is.
  bool needs_root = false;
};

enum class Contents { untouched, kept, lost, unknown };

struct RungPlan {
  Rung rung = Rung::name;
  std::string what;                         // One sentence.
  std::vector<std::string> commands;        // The same by hand.
  std::string dies;                         // Who; "nobody".
  std::string dies_too;                     // Who would end with them unasked; or empty.
  Contents contents = Contents::untouched;  // Of the GPU's memory.
  std::string desktop;                      // What it means for a desktop on this GPU; or empty.
  std::string cannot;                       // Why it cannot work here; empty: it can.
  bool needs_root = false;
  bool within = false;  // It is one of those that were asked for.
};

// What to do on the host, told from inside a container.
struct HostStep {
  std::string what;
  std::vector<std::string> commands;
};

// A way that is never taken.
struct RefusedWay {
  std::string name;
  std::string command;
  std::string rule;
};

struct ReclaimPlan {
  std::string pci;
  std::string title;  // "AMD Radeon RX 7900 XT (gfx1100)".
  bool integrated = false;
  ReclaimOptions options;
  Caller caller;
  Measurement now;
  std::vector<Target> targets;  // In the order in which they are asked.
  std::vector<Spared> spared;
  std::vector<Held> dead;        // Gone, and still listed by the driver.
  std::vector<Client> suspects;  // Hold nothing themselves and may keep the memory of the dead.
  std::vector<Service> services;
  std::vector<std::string> desktop;  // What shows that a desktop or console is on this GPU.
  std::optional<std::uint64_t> card;
  std::vector<RungPlan> rungs;  // All, in order.
  std::vector<RefusedWay> refused;
  // Made inside a container: for the host, where nothing here can be carried out.
  bool for_host = false;
  std::vector<HostStep> host_steps;
  std::vector<std::string> notes;
};

// Somebody said on the command line whom to end.
bool names_any(const ReclaimOptions& options);
// Those that were named and are left alone all the same.
std::vector<Spared> refused_choices(const ReclaimPlan& plan);
// Why the named one is left alone, and what to add if it is meant: sentences.
std::string why_refused(const Spared& spared);

// One GPU's plan. Fails with invalid where what is named holds nothing on it, and as measure().
Result<ReclaimPlan> plan_reclaim(const ReclaimSubject& subject, const std::string& pci);

// Whether nothing is left to do: enough is free or, where no figure was given, neither targets, nor
// the dead, nor what a service has started in a target's place hold anything.
bool is_enough(const ReclaimPlan& plan, const Measurement& now);
// How much is still missing; nothing where no figure was given.
std::optional<Bytes> shortage(const ReclaimPlan& plan, const Measurement& now);

// Why the rung must not be taken at this moment although it could work here: a process that nobody
// chose would die by it, or has the GPU open. Empty: it may. Asked again right before the rung,
// because processes come and go.
std::string innocents_of(const ReclaimPlan& plan, Rung rung, const Measurement& now);

std::string_view to_string(Contents contents);

}  // namespace headroom::plan
