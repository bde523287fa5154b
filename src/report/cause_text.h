// SPDX-License-Identifier: Apache-2.0
// The parts of a report for people that are the same whether a machine or a log was looked at.
#pragma once

#include <string>
#include <vector>

#include "facts/facts.h"
#include "findings/diagnosis.h"
#include "report/style.h"

namespace headroom::report {

// What it means, and below it where and what: "/proc/meminfo:1  MemTotal: …".
std::string evidence_text(const std::vector<findings::Evidence>& evidence, const Style& style);

// The step, a sentence; a colon leads over to its command, if it has one.
std::string sentence_text(const findings::Step& step);

// The step, a command, on one line, however narrow it is; the remark behind it may be folded.
std::string command_line(const findings::Step& step);

// Numbered. Commands are printed whole, so that they can be copied; sentences are folded, and the
// command of one stands below it. What only shows something comes last, without a number.
std::string steps_text(const std::vector<findings::Step>& steps, const Style& style);

// "Root cause: ttm-cap  (95 % sure)", why, the evidence, and what else it could be.
std::string cause_text(const findings::Cause& cause,
                       const std::vector<findings::Alternative>& runners_up, const Style& style);

// The command that mends the root cause by itself; nullptr where there is none.
const findings::NextCommand* mending_command(const findings::Diagnosis& diagnosis,
                                             std::string_view cause);

// The command for the machine that was looked at: with --root where that is a captured one, which
// `root` then names. "/" is this machine.
std::string for_root(const std::string& command, const std::string& root);

// The line that names the command, with what it does for this reader: in a container `fix` changes
// nothing, and `reclaim` prints what to type on the host.
std::string mending_line(const findings::NextCommand& command, bool in_container,
                         const Style& style, const std::string& root = "/");

// Whether the command does a cause's steps, which are the way without it then.
bool done_for_them(const findings::NextCommand* command);

// The line that names the command to type next where check found a cause: the one that mends it, or
// what is left to ask.
std::string next_after_cause(const findings::Diagnosis& diagnosis, const facts::Facts& facts,
                             const Style& style, const std::string& root);

// Whether nothing is wrong but that no PyTorch is there, and PyTorch's own wheels lack the code of
// every GPU here.
bool lacks_stack(const findings::Diagnosis& diagnosis, const facts::Facts& facts);

// The line that names the command to type next where check found no cause.
std::string next_without_cause(const findings::Diagnosis& diagnosis, const facts::Facts& facts,
                               const Style& style, const std::string& root = "/");

// "limited: …": the verdict in its colour and a sentence, folded.
std::string verdict_line(findings::Verdict verdict, const std::string& sentence,
                         const Style& style);

}  // namespace headroom::report
