// SPDX-License-Identifier: Apache-2.0
#include "supervisor/past_command.h"

namespace headroom::supervisor {
namespace {

bool is_of(const PastCommand& past, const CommandKey& key) {
  return past.name == key.name && past.command == key.command && past.memory == key.memory &&
         past.devices == key.devices;
}

}  // namespace

std::optional<LearnedSettings> find_learned(const std::vector<PastCommand>& past,
                                            const CommandKey& key) {
  std::optional<LearnedSettings> learned;
  for (const PastCommand& one : past) {
    if (!is_of(one, key)) continue;
    if (!learned) {  // The last attempt of the last run.
      const bool completed = one.exit.code == 0 && !one.exit.signal;
      if (!completed || !one.settings.micro) return std::nullopt;
      learned = LearnedSettings{0, one.settings, one.time};
    } else if (one.out_of_memory && one.settings.micro) {
      if (*one.settings.micro <= *learned->settings.micro) return std::nullopt;
      learned->out_of_memory_micro = *one.settings.micro;
      return learned;
    }
    // A run that began with these settings says nothing of larger ones; one before it may.
  }
  return std::nullopt;
}

}  // namespace headroom::supervisor
