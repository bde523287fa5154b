// SPDX-License-Identifier: Apache-2.0
#include "estimate/job_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "estimate/argument_names.h"
#include "estimate/argument_scanner.h"

namespace headroom::estimate {
namespace {

using Value = ArgumentScanner::Value;

constexpr std::size_t most_words = 5;  // "Instantaneous batch size per device"

bool has_any_of(std::string_view line, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [line](std::string_view part) {
    return line.find(part) != std::string_view::npos;
  });
}

// llama.cpp and what is built on it count tokens where others count sequences.
bool is_llama_cpp(std::string_view line) {
  return has_any_of(line, {"llama-server", "llama-cli", "llama-bench", "llama-run", "llama_context",
                           "llama_new_context", "llama.cpp", "ollama", "koboldcpp", ".gguf"});
}

struct ShortName {
  std::string_view name;
  Dimension dimension;
  unsigned doubt;
};
constexpr std::array<ShortName, 10> llama_cpp_names = {{
    {"b", Dimension::tokens, 1},
    {"batch_size", Dimension::tokens, 1},
    {"c", Dimension::cache_length, 0},
    {"c", Dimension::sequence, 1},
    {"ctx_size", Dimension::cache_length, 0},
    {"ctx_size", Dimension::sequence, 1},
    {"np", Dimension::batch, 1},
    {"parallel", Dimension::batch, 1},
    {"ub", Dimension::tokens, 0},
    {"ubatch_size", Dimension::tokens, 0},
}};

std::optional<DType> dtype_of(std::string_view word) {
  const std::string lower = to_lower(word.substr(word.rfind('.') + 1));
  if (lower == "bf16" || lower == "bfloat16" || lower.starts_with("bf16-")) return DType::bf16;
  if (lower == "fp16" || lower == "float16" || lower == "half" || lower == "16" ||
      lower.starts_with("16-"))
    return DType::fp16;
  if (lower == "fp32" || lower == "float32" || lower == "32" || lower.starts_with("32-"))
    return DType::fp32;
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(bool several_lines) : several_lines_(several_lines) {}

  void read_line(std::string_view line, std::size_t number) {
    if (line.find_first_of("=:-|.") == std::string_view::npos) return;  // Nothing has a value here.
    number_ = number;
    llama_cpp_ = is_llama_cpp(line);
    ArgumentScanner scanner(line);
    while (scanner.next()) read_name(scanner);
  }

  JobDimensions take() { return std::move(known_); }

 private:
  void read_name(ArgumentScanner& scanner) {
    const std::size_t words = scanner.dashes() > 0 ? 0 : most_words - 1;
    for (std::size_t more = words + 1; more-- > 0;) {
      const std::string name = scanner.name(more);
      if (name.empty()) continue;
      if (is_another_size(name)) {
        scanner.skip(more);
        return;
      }
      if (!has_meaning(name)) continue;
      if (const auto value = scanner.value(more)) {
        take_value(scanner, more, name, *value);
        scanner.skip(more);
        return;
      }
      if (more == 0 && scanner.dashes() > 0) note_dtype(name, "True");
    }
  }

  bool has_meaning(const std::string& name) const {
    return !meanings_of(name).empty() || says_dtype(name) ||
           (llama_cpp_ &&
            std::any_of(llama_cpp_names.begin(), llama_cpp_names.end(),
                        [&name](const ShortName& one) { return one.name == name; })) ||
           is_letter(name);
  }

  void take_value(const ArgumentScanner& scanner, std::size_t more, const std::string& name,
                  const Value& value) {
    // "--bf16 --lr 3e-4": the next word is an option of its own.
    note_dtype(name, value.word.empty() || value.word.starts_with('-') ? "True" : value.word);
    if (!value.number) return;
    source_ = scanner.spelled(more);
    if (several_lines_) source_ += fmt::format(" in line {}", number_);
    if (take_llama_cpp(name, *value.number)) return;
    if (scanner.dashes() > 0 && is_letter(name)) take_letter(name, *value.number);
    const auto meanings = meanings_of(name);
    const bool image = std::any_of(meanings.begin(), meanings.end(), [](const ArgumentName& one) {
      return one.dimension == Dimension::height;
    });
    // "size" alone may be the size of anything; "512x768" is a picture's.
    const bool unsure = image && meanings.front().doubt > 0;
    if (unsure && !value.second) return;
    for (const ArgumentName& meaning : meanings) {
      std::uint64_t number = *value.number;
      const bool takes_second =
          value.second && meanings.size() > 1 &&
          meaning.dimension == (value.by_x ? Dimension::height : Dimension::width);
      if (takes_second) number = *value.second;
      add(meaning.dimension, number, meaning.doubt);
    }
  }

  // -b 64; --H 768 --W 768
  static bool is_letter(std::string_view name) { return name == "b" || name == "h" || name == "w"; }
  void take_letter(std::string_view name, std::uint64_t number) {
    add(name == "b"   ? Dimension::batch
        : name == "h" ? Dimension::height
                      : Dimension::width,
        number, 1);
  }

  bool take_llama_cpp(const std::string& name, std::uint64_t number) {
    bool taken = false;
    if (!llama_cpp_) return taken;
    for (const ShortName& one : llama_cpp_names) {
      if (one.name != name) continue;
      add(one.dimension, number, one.doubt);
      taken = true;
    }
    return taken;
  }

  void add(Dimension dimension, std::uint64_t value, unsigned doubt) {
    known_.add(dimension, {value, source_, doubt});
  }

  static bool says_dtype(std::string_view name) {
    for (const std::string_view one : {"bf16", "fp16", "half", "dtype", "torch_dtype", "precision",
                                       "mixed_precision", "compute_dtype", "weight_dtype"}) {
      if (name == one) return true;
    }
    return false;
  }

  // A switch says more than the type that weights are loaded in; the first of a kind counts.
  void note_dtype(std::string_view name, std::string_view word) {
    if (!says_dtype(name)) return;
    const bool is_switch = name == "bf16" || name == "fp16" || name == "half";
    std::optional<DType> found;
    if (!is_switch) found = dtype_of(word);
    if (is_switch && to_lower(word) == "true") found = name == "bf16" ? DType::bf16 : DType::fp16;
    const int strength = is_switch || name == "mixed_precision" ? 2 : 1;
    if (!found || strength <= dtype_strength_) return;
    known_.compute = found;
    dtype_strength_ = strength;
  }

  bool several_lines_;
  std::size_t number_ = 0;
  bool llama_cpp_ = false;
  int dtype_strength_ = 0;
  std::string source_;
  JobDimensions known_;
};

}  // namespace

JobDimensions dimensions_in(std::string_view text) {
  const auto lines = split_lines(text);
  Reader reader(lines.size() > 1);
  for (std::size_t i = 0; i < lines.size(); ++i) reader.read_line(lines[i], i + 1);
  return reader.take();
}

}  // namespace headroom::estimate
