// SPDX-License-Identifier: Apache-2.0
#include "tokens/pattern.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "tokens/characters.h"
#include "tokens/pattern_syntax.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace headroom::tokens {
namespace {

constexpr std::size_t longest_expression = std::size_t{64} << 10U;
constexpr std::uint32_t most_steps = 10'000'000;     // Of one match; PCRE2's own default.
constexpr std::uint32_t most_heap_kib = 64U << 10U;  // Of one match.
constexpr std::size_t machine_stack_bytes = std::size_t{1} << 20U;

std::string message_of(int code) {
  constexpr std::size_t long_enough = 256;
  std::array<PCRE2_UCHAR, long_enough> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};

}  // namespace

struct Pattern::Compiled {
  std::unique_ptr<pcre2_code, Freed<pcre2_code_free>> code;
  std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data_free>> data;
  std::unique_ptr<pcre2_match_context, Freed<pcre2_match_context_free>> context;
  std::unique_ptr<pcre2_jit_stack, Freed<pcre2_jit_stack_free>> stack;
};

Pattern::Pattern() = default;
Pattern::Pattern(Pattern&& other) noexcept = default;
Pattern& Pattern::operator=(Pattern&& other) noexcept = default;
Pattern::~Pattern() = default;

Pattern Pattern::exactly(std::string text) {
  Pattern pattern;
  pattern.text_ = std::move(text);
  return pattern;
}

Result<Pattern> Pattern::compile(std::string_view expression) {
  const std::string next = "use the tokenizer.json that came with the model";
  if (expression.size() > longest_expression)
    return Error{Errc::invalid,
                 fmt::format("expected a regular expression of at most {} bytes, found {}",
                             longest_expression, expression.size()),
                 next};
  HEADROOM_TRY(const std::string translated, to_pcre2(expression));
  int problem = 0;
  std::size_t place = 0;
  Pattern pattern;
  pattern.compiled_ = std::make_unique<Compiled>();
  Compiled& compiled = *pattern.compiled_;
  compiled.code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()),
                                    translated.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE,
                                    &problem, &place, nullptr));
  if (!compiled.code)
    return Error{Errc::invalid,
                 fmt::format("expected a regular expression, found \"{}\": {} at {}", expression,
                             message_of(problem), place),
                 next};
  compiled.data.reset(pcre2_match_data_create_from_pattern(compiled.code.get(), nullptr));
  compiled.context.reset(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(compiled.context.get(), most_steps);
  pcre2_set_heap_limit(compiled.context.get(), most_heap_kib);
  // Where no memory may be both written and run, the interpreter does the same, slower.
  if (pcre2_jit_compile(compiled.code.get(), PCRE2_JIT_COMPLETE) == 0) {
    compiled.stack.reset(
        pcre2_jit_stack_create(machine_stack_bytes / 32, machine_stack_bytes, nullptr));
    pcre2_jit_stack_assign(compiled.context.get(), nullptr, compiled.stack.get());
  }
  return pattern;
}

Result<bool> Pattern::match_at(std::string_view text, std::size_t from, Span& match) const {
  const Compiled& compiled = *compiled_;
  const auto match_with = [&](std::uint32_t options) {
    return pcre2_match(compiled.code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                       from, PCRE2_NO_UTF_CHECK | options, compiled.data.get(),
                       compiled.context.get());
  };
  int found = match_with(0);
  if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = match_with(PCRE2_NO_JIT);
  if (found == PCRE2_ERROR_NOMATCH) return false;
  if (found < 0)
    return Error{Errc::invalid,
                 fmt::format("expected the tokenizer's regular expression to be matched within {} "
                             "steps, found a text where it is not: {}",
                             most_steps, message_of(found)),
                 "use the tokenizer.json that came with the model, or shorten the line"};
  const std::size_t* ends = pcre2_get_ovector_pointer(compiled.data.get());
  match = {ends[0], ends[1]};
  if (match.begin > match.end) match.begin = match.end;  // \K could; it is refused.
  return true;
}

Status Pattern::find_expression(std::string_view text, std::vector<Span>& matches) const {
  bool any = false;
  std::size_t last_end = 0;
  for (std::size_t from = 0; from <= text.size();) {
    Span match;
    HEADROOM_TRY(const bool found, match_at(text, from, match));
    if (!found) break;
    if (match.begin == match.end && any && match.end == last_end) {
      if (from == text.size()) break;
      take_character(text, from);
      continue;
    }
    from = last_end = match.end;
    any = true;
    matches.push_back(match);
  }
  return Done{};
}

Status Pattern::find_all(std::string_view text, std::vector<Span>& matches) const {
  matches.clear();
  if (compiled_) return find_expression(text, matches);
  if (text_.empty()) return Done{};
  for (std::size_t at = text.find(text_); at != std::string_view::npos;
       at = text.find(text_, at + text_.size()))
    matches.push_back({at, at + text_.size()});
  return Done{};
}

}  // namespace headroom::tokens
