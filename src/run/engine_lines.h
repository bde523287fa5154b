// SPDX-License-Identifier: Apache-2.0
// What vLLM and llama.cpp print when they load a model, as the command that was typed, and the
// sizes that they found. The forms are those of load logs that people posted, of vLLM's engines V0
// and V1 and of llama.cpp; not checked against each release.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace headroom::run {

// An option of a program, as its log shows it.
struct PrintedOption {
  std::string value;  // Empty of a switch.
  std::string from;   // What the log calls it.
  std::uint64_t line = 0;
};

// A size that the program says it took.
struct PrintedSize {
  std::string what;
  Bytes size;
  std::uint64_t line = 0;
};

// A program's load log: of an option that comes again the last one holds.
struct EngineLog {
  std::map<std::string, PrintedOption> options;  // By their long names.
  std::vector<PrintedSize> sizes;                // The last of each kind.
  std::optional<PrintedOption> model;
  std::optional<Bytes> total;  // Of the card.

  void set(const std::string& name, const std::string& value, const std::string& from,
           std::uint64_t line);
  void add_size(const std::string& what, Bytes size, std::uint64_t line);
};

class VllmLines {
 public:
  void take(std::uint64_t line, std::string_view text);
  bool is_there() const { return log.model.has_value(); }

  EngineLog log;
  bool is_v0 = false;

 private:
  void take_config(std::uint64_t line, std::string_view text);
  void take_arguments(std::uint64_t line, std::string_view text);
  void take_sizes(std::uint64_t line, std::string_view text);
};

class LlamaLines {
 public:
  void take(std::uint64_t line, std::string_view text);
  bool is_there() const { return log.model.has_value(); }

  EngineLog log;
  bool is_server = false;

 private:
  void take_context(std::uint64_t line, std::string_view text);
  void take_sizes(std::uint64_t line, std::string_view text);
};

}  // namespace headroom::run
