// SPDX-License-Identifier: Apache-2.0
// What all steps of a proof share: the Python that runs them, and the machine that failures are
// judged by. All of it outlives the proof.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "facts/facts.h"
#include "findings/diagnosis.h"
#include "knowledge/gpu_tables.h"
#include "machine/files.h"
#include "machine/tree/kernel_messages.h"
#include "run/command/log_rules.h"

namespace headroom::run {

struct StepHost {
  std::string python;  // What a report calls it: the interpreter's path.
  // What runs the steps, in front of their words: the interpreter and the folder headroom_steps.
  std::vector<std::string> command;
  // What ends all that `command` may have started elsewhere, as in a container; empty: it starts
  // nothing elsewhere.
  std::vector<std::string> clean_up = {};
  // The command's standard input stays open until it has ended, and ends with this process.
  bool holds_input = false;
  std::vector<std::string> environment;  // NAME=VALUE.
  std::vector<std::string> steps;        // As in proof::step_kinds(); empty: all.
  unsigned training_steps = 50;
  std::chrono::seconds soak{0};  // How long the load of the level soak lasts; 0: there is none.
  std::optional<std::chrono::seconds> limit;  // For every step, in place of its own.
  // For all that one process does, whatever progress it tells. Nothing: as long as there is some.
  std::optional<std::chrono::seconds> whole = {};
  const facts::Facts& facts;
  const findings::Diagnosis& diagnosis;
  const knowledge::GpuTables& tables;
  LogRules& rules;
  machine::KernelMessages* kernel = nullptr;  // nullptr: they cannot be read here.
  // Where the device's sensors and counters are read during a soak; null: nowhere.
  std::shared_ptr<const machine::Files> files = {};
  // Called when a step begins, with its device (empty: none yet) and its name. May be empty.
  std::function<void(const std::string& device, const std::string& step)> on_step;
};

}  // namespace headroom::run
