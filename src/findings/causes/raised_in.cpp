// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/raised_in.h"

#include <re2/re2.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace headroom::findings {

using logs::Observation;

namespace {

// Whether a frame only passes a call on, or returns an attribute; then its caller is at fault.
bool only_hands_on(std::string_view called) {
  for (const std::string_view function :
       {"decorate_context", "_call_impl", "_wrapped_call_impl", "new_forward", "wrapper", "wrapped",
        "_fn", "__getattr__", "inner"}) {
    if (called == function) return true;
  }
  return false;
}

// A box of Rich may leave the function's name to the line below the path.
std::string_view function_of(const logs::Observations& log, const Observation& frame) {
  if (!frame.value("function").empty()) return frame.value("function");
  for (const Observation* below : log.of("rich-frame-function")) {
    if (below->log == frame.log && below->line == frame.line + 1) return below->value("function");
  }
  return {};
}

// The frames of Python's own tracebacks and of Rich's boxes, in their order.
std::vector<const Observation*> frames_of(const logs::Observations& log) {
  std::vector<const Observation*> frames = log.of("traceback-frame");
  const auto boxed = log.of("rich-frame");
  frames.insert(frames.end(), boxed.begin(), boxed.end());
  std::stable_sort(frames.begin(), frames.end(), [](const auto* one, const auto* other) {
    return std::pair(one->log, one->line) < std::pair(other->log, other->line);
  });
  return frames;
}

}  // namespace

CodeOwner owner_of_path(std::string_view path) {
  static const RE2 generated(
      R"(/torchinductor_|/\.triton/cache/|^<eval_with_key>|/inductor_cache/)");
  static const RE2 framework(
      R"((?:site|dist)-packages/(?:torch|torchvision|torchaudio|vllm|sglang|tensorflow|keras|jax|jaxlib|triton|onnxruntime|xformers|flash_attn|deepspeed|megatron\w*|lightning|pytorch_lightning|composer|aiter)/|/vllm/(?:v1|model_executor|engine|worker|attention|executor|entrypoints|distributed|platforms)/|/sglang/srt/|/pytorch/torch/)");
  static const RE2 library(R"((?:site|dist)-packages/|/lib(?:64)?/python3|/Lib/|^<frozen )");
  std::string whole(path);
  std::replace(whole.begin(), whole.end(), '\\', '/');
  if (RE2::PartialMatch(whole, generated)) return CodeOwner::generated;
  if (RE2::PartialMatch(whole, framework)) return CodeOwner::framework;
  if (RE2::PartialMatch(whole, library)) return CodeOwner::library;
  return CodeOwner::user;
}

RaisedIn raised_in(const logs::Observations& log, const Observation& error) {
  // Between a frame and its error are the source line, marks below it, and the first lines of a
  // message.
  constexpr std::uint64_t most_lines = 12;
  RaisedIn raised;
  for (const Observation* frame : frames_of(log)) {
    const bool before = frame->log == error.log && frame->line <= error.line;
    if (!before || error.line - frame->line >= most_lines) continue;
    if (raised.frame == nullptr || !only_hands_on(function_of(log, *frame))) raised.frame = frame;
  }
  if (raised.frame != nullptr) raised.owner = owner_of_path(raised.frame->value("path"));
  return raised;
}

const Observation* imports_undemanded(const logs::Observations& log, const Observation& error) {
  static const RE2 of_torch(R"(packages/torch/)");
  static const RE2 installed(R"((?:site|dist)-packages/)");
  static const RE2 of_python(R"(^<frozen |/lib(?:64)?/python3|/Lib/|/importlib/)");
  constexpr std::uint64_t longest_traceback = 80;
  const std::vector<const Observation*> frames = frames_of(log);
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const bool before = (*frame)->log == error.log && (*frame)->line < error.line;
    if (!before || error.line - (*frame)->line > longest_traceback) continue;
    std::string path((*frame)->value("path"));
    std::replace(path.begin(), path.end(), '\\', '/');
    if (RE2::PartialMatch(path, of_torch)) continue;
    const bool is_installed = RE2::PartialMatch(path, installed);
    if (!is_installed && RE2::PartialMatch(path, of_python)) continue;
    // A framework for several GPUs needs it indeed.
    return is_installed && owner_of_path(path) == CodeOwner::library ? *frame : nullptr;
  }
  return nullptr;
}

const Observation* lookup_cut_off(const logs::Observations& log) {
  const std::vector<const Observation*> frames = frames_of(log);
  if (frames.size() < 2) return nullptr;
  const Observation& innermost = *frames.back();
  const Observation* caller = frames[frames.size() - 2];
  if (function_of(log, innermost) != "__getattr__" || caller->log != innermost.log) return nullptr;
  for (const Observation& one : log.all()) {
    const bool error = one.id().starts_with("python-") && one.id().ends_with("exception");
    if (error || one.id() == "import-name-missing" || one.id() == "module-missing") return nullptr;
  }
  return owner_of_path(caller->value("path")) == CodeOwner::user ? caller : nullptr;
}

bool is_wrong_call(const Observation& error) {
  static const RE2 wrong(
      R"(got multiple values for argument|missing \d+ required (?:positional|keyword)|got an unexpected keyword argument|takes (?:from )?\d+ .*positional arguments? but)");
  return error.value("type") == "TypeError" && RE2::PartialMatch(error.text, wrong);
}

}  // namespace headroom::findings
