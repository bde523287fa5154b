// SPDX-License-Identifier: Apache-2.0
// The settings of a supervised command: the first line is the text of --settings, the others are
// the words of a command. Shrunk until they are as small as they get.
#include "base/text.h"
#include "fuzz.h"
#include "supervisor/settings.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  using namespace headroom::supervisor;
  static const knowledge::TrainerFlags flags = *knowledge::load_trainer_flags();
  const auto lines = split(fuzz::to_text(data, size), '\n');
  const auto given = parse_settings(std::string(lines.front()));
  if (!given) fuzz::require(!given.error().message.empty() && !given.error().next.empty());
  std::vector<std::string> argv;
  for (std::size_t i = 1; i < lines.size(); ++i) argv.emplace_back(lines[i]);
  const auto command = CommandTemplate::make(argv, given.value_or(Settings{}), flags);
  if (!command) return 0;
  Settings settings = command->initial();
  for (int halvings = 0;; ++halvings) {
    fuzz::require(halvings < 33);
    if (settings.micro) fuzz::require(*settings.micro >= 1 && *settings.micro <= largest_setting);
    static_cast<void>(command->fill_in(settings, halvings > 0));
    const auto less = command->smaller(settings);
    if (!less) return 0;
    fuzz::require(*less->micro * 2 <= *settings.micro);
    settings = *less;
  }
}
