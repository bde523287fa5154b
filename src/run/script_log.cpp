// SPDX-License-Identifier: Apache-2.0
#include "run/script_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/document.h"
#include "base/text.h"
#include "logs/decode.h"
#include "logs/line_prefix.h"
#include "machine/input_stream.h"
#include "machine/user_files.h"
#include "run/engine_lines.h"
#include "run/log_words.h"
#include "run/training_lines.h"
#include "run/training_log.h"

namespace headroom::run {
namespace {

using machine::InputStream;

// What an out-of-memory error of PyTorch says of the card and of the moment.
struct Failure {
  std::string tried;  // As it was printed, without blanks: "2.00GiB".
  Bytes total, allocated;
  std::uint64_t line = 0;
};

class Lines {
 public:
  // A part of the log; lines may be cut anywhere between two calls.
  void feed(std::string_view text) {
    for (;;) {
      const std::size_t end = text.find_first_of("\n\r");
      append(text.substr(0, end));
      if (end == std::string_view::npos) return;
      finish_line();
      if (text[end] == '\n') ++line_;
      text.remove_prefix(end + 1);
    }
  }
  void finish() { finish_line(); }

  TrainingLines training;
  VllmLines vllm;
  LlamaLines llama;
  std::optional<Failure> failure;

 private:
  // vLLM's longest line has a few thousand characters; the rest of a longer one is not looked at.
  static constexpr std::size_t longest_line = std::size_t{256} << 10U;

  void append(std::string_view text) {
    partial_ += text.substr(0, longest_line - std::min(longest_line, partial_.size()));
  }

  void finish_line() {
    const std::string_view text = logs::parse_prefix(partial_).body;
    training.take(line_, partial_, text);
    vllm.take(line_, text);
    llama.take(line_, text);
    take_failure(text);
    partial_.clear();
  }

  // "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.98 GiB …"
  void take_failure(std::string_view text) {
    constexpr std::string_view mark = "Tried to allocate";
    if (!size_behind(text, mark)) return;
    const auto total = size_behind(text, "total capacity of");
    const auto allocated = size_behind(text, "Of the allocated memory");
    std::string tried(text.substr(text.find(mark) + mark.size()));
    std::erase(tried, ' ');
    tried.resize(std::min(tried.find('B') + 1, tried.size()));
    failure = Failure{tried, total.value_or(Bytes{}), allocated.value_or(Bytes{}), line_};
  }

  std::string partial_;
  std::uint64_t line_ = 1;
};

Result<Lines> read_lines(const std::string& path) {
  auto opened = InputStream::open(path);
  if (!opened)
    return Error{opened.error().code, opened.error().message,
                 "give the file that the run's output was written to, or - for standard input"};
  constexpr auto patience = std::chrono::milliseconds(1000);
  std::vector<char> buffer(std::size_t{256} << 10U);
  logs::Decoder decoder;
  Lines lines;
  for (bool is_over = false; !is_over;) {
    HEADROOM_TRY(const auto piece, opened->read(buffer, patience));
    is_over = piece.state == InputStream::State::end;
    lines.feed(decoder.decode({buffer.data(), piece.size}));
  }
  lines.feed(decoder.finish());
  lines.finish();
  return lines;
}

std::string sizes_note(const std::vector<PrintedSize>& sizes) {
  std::vector<std::string> words;
  for (const PrintedSize& one : sizes)
    words.push_back(fmt::format("{} {} (line {})", one.what, to_string(one.size), one.line));
  return fmt::format("The run itself printed: {}.", join(words, ", "));
}

// The options behind a command, and the note of where each is from.
void add_options(const EngineLog& log, const std::string& where, ScriptLog& result) {
  std::vector<std::string> taken = {
      fmt::format("{} from {} (line {})", log.model->value, log.model->from, log.model->line)};
  for (const auto& [name, option] : log.options) {
    result.command.push_back("--" + name);
    if (!option.value.empty()) result.command.push_back(option.value);
    taken.push_back(fmt::format("--{}{}{} from {} (line {})", name, option.value.empty() ? "" : " ",
                                option.value, option.from, option.line));
  }
  result.notes.push_back(fmt::format("Taken from {}: {}.", where, join(taken, ", ")));
  if (!log.sizes.empty()) result.notes.push_back(sizes_note(log.sizes));
  if (log.total) result.device.set("device.capacity", to_string(*log.total), "the log's total");
}

std::optional<std::string> own_model(const JobFlags& own) {
  if (!own.names_model()) return std::nullopt;
  const Json& model = own.keys["model"];
  for (const char* key : {"config", "name"})
    if (model.contains(key) && model[key].is_string()) return model[key].get<std::string>();
  return std::nullopt;
}

ScriptLog as_vllm(const VllmLines& lines, const JobFlags& own, const std::string& where) {
  ScriptLog result;
  if (lines.is_v0) result.command.emplace_back("VLLM_USE_V1=0");
  result.command.insert(
      result.command.end(),
      {"vllm", "serve", own_model(own).value_or(model_at(lines.log.model->value))});
  add_options(lines.log, where, result);
  if (!lines.log.options.contains("gpu-memory-utilization"))
    result.notes.emplace_back(
        "The log does not say which share of the card vLLM took, or how many sequences at once: "
        "the version's defaults are assumed, if the line \"non-default args\" is not there.");
  return result;
}

// A llama.cpp log lists no tensors: their sizes are in the file.
Result<ScriptLog> as_llama(const LlamaLines& lines, const JobFlags& own, const std::string& where) {
  const std::string model = own_model(own).value_or(lines.log.model->value);
  if (!machine::kind_of(model)) {
    const std::string sizes = lines.log.sizes.empty() ? "" : " " + sizes_note(lines.log.sizes);
    return Error{Errc::not_found,
                 fmt::format("{}: line {}: expected {} to plan it, found no such file here.{}",
                             where, lines.log.model->line, model, sizes),
                 "add the file: headroom plan --from LOG --model MODEL.gguf"};
  }
  ScriptLog result;
  result.command = {lines.is_server ? "llama-server" : "llama-cli", "--model", model};
  add_options(lines.log, where, result);
  return result;
}

Result<ScriptLog> as_training(const Lines& lines, const JobFlags& own, const std::string& where) {
  ScriptLog result;
  auto command = to_training_command(lines.training, own, where);
  if (!command) return std::move(command).error().in(where);
  result.training = *std::move(command);
  result.notes = std::move(result.training.notes);
  return result;
}

void add_failure(const Failure& failure, const std::string& path, ScriptLog& result) {
  std::string text =
      fmt::format("The run ran out of memory: {} could not be allocated", failure.tried);
  if (failure.allocated.value > 0)
    text += fmt::format(", with {} in use by PyTorch", to_string(failure.allocated));
  text += fmt::format(" (line {}).", failure.line);
  if (result.command.empty())
    text +=
        fmt::format(" headroom plan --from {} --explain {} names the tensor.", path, failure.tried);
  result.notes.push_back(std::move(text));
  if (failure.total.value > 0)
    result.device.set("device.capacity", to_string(failure.total), "the log's total capacity");
}

}  // namespace

Result<ScriptLog> read_script_log(const std::string& path, const JobFlags& own) {
  const std::string where = path == "-" ? "standard input" : path;
  HEADROOM_TRY(const Lines lines, read_lines(path));
  std::optional<ScriptLog> result;
  if (lines.training.is_there()) {
    HEADROOM_TRY(result, as_training(lines, own, where));
  } else if (lines.vllm.is_there()) {
    result = as_vllm(lines.vllm, own, where);
  } else if (lines.llama.is_there()) {
    HEADROOM_TRY(result, as_llama(lines.llama, own, where));
  } else {
    return Error{Errc::invalid,
                 fmt::format("{}: expected what Trainer, PEFT, Axolotl, LLaMA-Factory, vLLM or "
                             "llama.cpp print of a run's settings, found none of their lines",
                             where),
                 "headroom plan -- COMMAND reads the command instead"};
  }
  if (lines.failure) add_failure(*lines.failure, path, *result);
  return *std::move(result);
}

}  // namespace headroom::run
