// SPDX-License-Identifier: Apache-2.0
// What is said of a change to an APU's memory limit: why it cannot be made here, what it brings,
// and what the reader should know before and afterwards.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "facts/what_if.h"
#include "plan/boot/boot_steps.h"
#include "plan/fix.h"
#include "plan/memory_size.h"

namespace headroom::plan {

Error no_apu(const facts::Facts& facts);
// The pool would be the carve-out even so.
Error carve_out_pool(const facts::Gpu& apu, const facts::Prediction& prediction);
// `next`: the machine with the options that its next boot will have.
Error nothing_to_do(const facts::Gpu& apu, const facts::MachineFacts& next, Bytes asked,
                    const std::string& command);
// Every file says so already, and this boot began before that.
Error only_restart(const facts::MachineFacts& next, const std::vector<ParameterChange>& parameters);
// A container cannot set what its host's kernel boots with.
Error host_only(const facts::MachineFacts& machine, const std::vector<ParameterChange>& parameters,
                const FixOptions& options, const std::string& command);

struct LimitStory {
  const facts::Gpu& now;
  const facts::Gpu& then;
  const facts::MachineFacts& machine;
  bool drops_gttsize = false;
};
void add_words(const LimitStory& story, const SizeChoice& choice, Change& change);
std::vector<std::string> notes_on_carve_out(const LimitStory& story, const std::string& setting);

}  // namespace headroom::plan
