// SPDX-License-Identifier: Apache-2.0
// The flags by which well-known training programs (and llama.cpp) take what decides their memory:
// data/trainers.toml. The table says which word of a command is the micro-batch; what becomes of it
// after an out of memory is decided in supervisor/settings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "knowledge/origin.h"

namespace headroom::knowledge {

enum class Shrink : std::uint8_t {
  divisor,  // To the largest divisor of at most half; the accumulation grows by as much.
  half,     // To half, rounded down.
};

struct Trainer {
  std::string id, name;
  std::vector<std::string> programs, verbs, known_by, file_ends;  // Empty: not asked for.
  // Names: "--name" is an option, "name" stands in front of "=VALUE". Of several the first is the
  // one that is added to a command.
  std::vector<std::string> micro, accumulate, resume;
  bool appends_micro = false, appends_accumulate = false;
  std::optional<std::uint64_t> default_micro, default_accumulate;
  std::vector<std::string> resume_with;  // Added from the second attempt on.
  Shrink shrink = Shrink::divisor;
  std::string unit;  // What micro counts: "samples".
  Origin origin;
};

struct TrainerFlags {
  std::vector<std::string> launchers;  // Programs whose own options end where their script begins.
  std::vector<Trainer> trainers;
};

// Fails with the table's line.
Result<TrainerFlags> parse_trainer_flags(std::string_view text);
// The embedded table. Fails only if it is wrong, which a test excludes.
Result<TrainerFlags> load_trainer_flags();

// Where a command says a value: words[word], from `begin` to its end, is the value.
struct FlagPlace {
  std::size_t word = 0;
  std::size_t begin = 0;
};

// A command as what the table knows.
struct RecognisedCommand {
  const Trainer* trainer = nullptr;  // Of the table that was asked.
  std::size_t arguments = 0;         // The first word that is an argument of the trainer itself.
  // The configuration file that it names, as it stands there.
  std::optional<std::string> file;
};

// The first row that a command is recognised as. `flags` must outlive the answer.
std::optional<RecognisedCommand> recognise(const TrainerFlags& flags,
                                           const std::vector<std::string>& argv);

// The last place from words[from] on that has one of `names`, by "--name VALUE", "--name=VALUE" or,
// for a name without a dash, "name=VALUE". Nothing where a value is missing.
std::optional<FlagPlace> find_flag(const std::vector<std::string>& words, std::size_t from,
                                   const std::vector<std::string>& names);
// Whether one of the names is there at all, with a value or without.
bool has_flag(const std::vector<std::string>& words, std::size_t from,
              const std::vector<std::string>& names);

// The words that set a name to a value: {"--name", "4"} or {"name=4"}.
std::vector<std::string> flag_words(const std::string& name, const std::string& value);

// The keys under which a configuration file has what a name sets: "--micro-batch-size" stands there
// as micro_batch_size.
std::string file_key(std::string_view name);

}  // namespace headroom::knowledge
