// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/raised_in.h"

#include <re2/re2.h>

#include <algorithm>
#include <string>

namespace headroom::findings {

using logs::Observation;

namespace {

// Whether a frame only passes a call on, or returns an attribute; then its caller is at fault.
bool only_hands_on(const Observation& frame) {
  for (const std::string_view function :
       {"decorate_context", "_call_impl", "_wrapped_call_impl", "new_forward", "wrapper", "wrapped",
        "_fn", "__getattr__", "inner"}) {
    if (frame.value("function") == function) return true;
  }
  return false;
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
  for (const Observation* frame : log.of("traceback-frame")) {
    const bool before = frame->log == error.log && frame->line <= error.line;
    if (!before || error.line - frame->line >= most_lines) continue;
    if (raised.frame == nullptr || !only_hands_on(*frame)) raised.frame = frame;
  }
  if (raised.frame != nullptr) raised.owner = owner_of_path(raised.frame->value("path"));
  return raised;
}

bool is_wrong_call(const Observation& error) {
  static const RE2 wrong(
      R"(got multiple values for argument|missing \d+ required (?:positional|keyword)|got an unexpected keyword argument|takes (?:from )?\d+ .*positional arguments? but)");
  return error.value("type") == "TypeError" && RE2::PartialMatch(error.text, wrong);
}

}  // namespace headroom::findings
