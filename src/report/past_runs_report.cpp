// SPDX-License-Identifier: Apache-2.0
#include "report/past_runs_report.h"

#include <fmt/format.h>

#include <iterator>

#include "base/bytes.h"
#include "base/text.h"
#include "report/style.h"

namespace headroom::report {
namespace {

using allocator::Component;
using estimate::ErrorCause;
using estimate::PastErrors;
using estimate::PastRun;
using estimate::PredictionError;
using Part = ErrorCause::Part;

std::string human(std::uint64_t bytes) {
  return to_string(Bytes{bytes});
}

std::string_view to_string(Part part) {
  switch (part) {
    case Part::component:
      return "component";
    case Part::spread:
      return "spread";
    case Part::fixed_amount:
      return "fixed-amount";
    case Part::allocator:
      return "allocator";
    case Part::context:
      return "context";
    case Part::unknown:
      return "unknown";
  }
  return "unknown";
}

// What makes this part differ from a plan, and which keys of the job say so.
std::string_view usual_reason(Component component) {
  switch (component) {
    case Component::weights:
      return "their type differs from the plan (method.base), or they are padded";
    case Component::adapters:
      return "other targets, or another type (method.targets, method.adapter_dtype)";
    case Component::gradients:
      return "they are kept or accumulated in another way (zero_grad(set_to_none), "
             "batch.accumulate)";
    case Component::optimizer:
      return "another optimizer, or states in another type (optimizer.kind, optimizer.master)";
    case Component::activations:
      return "another attention kernel, or a version of the model's code that keeps other tensors "
             "for the backward (compute.attention, compute.checkpointing, engine.transformers)";
    case Component::logits:
      return "another loss kernel, or a version that makes another number of copies of the logits "
             "(compute.loss, engine.transformers)";
    case Component::kv_cache:
      return "another kind of cache, or other lengths (batch.prompt, batch.generate)";
    case Component::workspace:
      return "the libraries take workspaces of other sizes here (rocBLAS, hipBLASLt)";
    case Component::other:
      return "tensors that the plan does not contain";
  }
  return "tensors that the plan does not contain";
}

std::string amounts(const ErrorCause& cause) {
  return fmt::format("planned {}, measured {}", human(cause.predicted_bytes),
                     human(cause.measured_bytes));
}

std::string component_text(const ErrorCause& cause) {
  const std::string_view name = to_string(*cause.component);
  if (cause.was_measured)
    return fmt::format("Most of it is the part {} ({}): {}.", name, amounts(cause),
                       usual_reason(*cause.component));
  return fmt::format("It grows and shrinks with the part {} (planned {}; {} would explain it): {}.",
                     name, human(cause.predicted_bytes), human(cause.measured_bytes),
                     usual_reason(*cause.component));
}

std::string cause_text(const ErrorCause& cause) {
  switch (cause.part) {
    case Part::component:
      return component_text(cause);
    case Part::spread:
      return "It is spread over several parts. No single part has most of it.";
    case Part::fixed_amount:
      return fmt::format(
          "It is about the same amount for every job size ({}). It may be a library's workspace, "
          "or tensors that the program holds beside the model.",
          amounts(cause));
    case Part::allocator:
      return fmt::format(
          "It is what the allocator keeps beyond the tensors ({}). Its settings differ from "
          "device.allocator (PYTORCH_HIP_ALLOC_CONF), or it is another version.",
          amounts(cause));
    case Part::context:
      return fmt::format(
          "It is the driver's context ({}). To plan with what was measured, write context = "
          "\"{}MiB\" below [device].",
          amounts(cause), (cause.measured_bytes + (1U << 19U)) >> 20U);
    case Part::unknown:
      return "The runs are too similar to show which part is wrong. A run with another batch or "
             "sequence length would show it.";
  }
  return "";
}

std::string error_text(const PredictionError& error) {
  return fmt::format("{}: error median {:+.1f} %, worst {:+.1f} %{}", to_string(error.measure),
                     100 * error.median, 100 * error.worst,
                     error.runs == 1 ? " (one run)" : fmt::format(" ({} runs)", error.runs));
}

std::string systematic_text(const PastErrors& past, std::size_t width) {
  std::string text;
  for (const PredictionError& error : past.errors) {
    if (!error.systematic) continue;
    std::string line =
        fmt::format("What is {} was planned too {} every time.",
                    error.measure == estimate::Measure::device ? "taken on the device"
                                                               : to_string(error.measure),
                    error.median > 0 ? "large" : "small");
    for (const ErrorCause& cause : past.causes) {
      if (cause.of == error.measure) line += " " + cause_text(cause);
    }
    text += fold(line, "  ", width);
  }
  if (!text.empty())
    text += fold("headroom has not corrected the plan above for this.", "  ", width);
  return text;
}

std::string name_of(const PastRun& run) {
  return printable(run.model.empty() ? run.family : run.model);
}

std::string amount_or_dash(const std::optional<std::uint64_t>& bytes) {
  return bytes ? human(*bytes) : "-";
}

// Of the allocated peak; nothing can be said of a run that ended before it.
std::string error_or_dash(const PastRun& run) {
  const auto& predicted = run.predicted.allocated_bytes;
  const auto& measured = run.measured.allocated_bytes;
  if (!predicted || !measured || *measured == 0) return "-";
  if (run.outcome == estimate::Outcome::out_of_memory) return "-";
  return fmt::format(
      "{:+.1f} %",
      100.0 * (static_cast<double>(*predicted) / static_cast<double>(*measured) - 1.0));
}

}  // namespace

std::string to_text(const PastErrors& past, std::size_t width) {
  if (past.runs == 0) return "";
  std::string line = fmt::format(
      "Seen on this machine: {} run{} of such jobs{}", past.runs, past.runs == 1 ? "" : "s",
      past.same_model == past.runs ? ", all of this model"
                                   : fmt::format(", {} of this model", past.same_model));
  line += ".";
  if (past.out_of_memory > 0)
    line += fmt::format(" {} of them ran out of memory.", past.out_of_memory);
  std::string text = "\n" + fold(line, "", width);
  for (const PredictionError& error : past.errors) text += fold(error_text(error), "  ", width);
  return fit(text + systematic_text(past, width), width);
}

Json to_json(const PastErrors& past) {
  if (past.runs == 0) return nullptr;
  Json errors = Json::array();
  for (const PredictionError& error : past.errors) {
    errors.push_back({{"measure", to_string(error.measure)},
                      {"runs", error.runs},
                      {"median", error.median},
                      {"worst", error.worst},
                      {"systematic", error.systematic}});
  }
  Json causes = Json::array();
  for (const ErrorCause& cause : past.causes) {
    causes.push_back(
        {{"measure", to_string(cause.of)},
         {"part", to_string(cause.part)},
         {"component", cause.component ? Json(to_string(*cause.component)) : Json(nullptr)},
         {"by_component", cause.was_measured},
         {"predicted_bytes", cause.predicted_bytes},
         {"measured_bytes", cause.measured_bytes},
         {"text", cause_text(cause)}});
  }
  return {{"runs", past.runs},
          {"same_model", past.same_model},
          {"out_of_memory", past.out_of_memory},
          {"errors", errors},
          {"causes", causes}};
}

std::string past_runs_to_text(const std::vector<PastRun>& runs, std::size_t unreadable,
                              std::size_t width) {
  std::string text;
  if (runs.empty()) {
    text =
        "No run is recorded yet. `headroom run JOB.toml` records each run it finishes; one made "
        "elsewhere is\nrecorded with `headroom plan JOB.toml --record REPORT.json`.\n";
  } else {
    std::vector<std::vector<std::string>> rows = {
        {"when", "model", "method", "engine", "planned", "measured", "error", "outcome"}};
    for (const PastRun& run : runs) {
      rows.push_back({printable(run.time), shorten(name_of(run), 28), printable(run.method),
                      printable(run.engine), amount_or_dash(run.predicted.allocated_bytes),
                      amount_or_dash(run.measured.allocated_bytes), error_or_dash(run),
                      std::string(to_string(run.outcome))});
    }
    using enum Align;
    for (const TableLine& line :
         table(rows, {left, left, left, left, right, right, right, left}, 0, width))
      text += line.text + "\n";
    text += "\nPlanned and measured: the peak of what is allocated.\n";
  }
  if (unreadable > 0)
    text += fmt::format("{} row{} of the file cannot be read and are left out.\n", unreadable,
                        unreadable == 1 ? "" : "s");
  return fit(text, width);
}

Json past_runs_to_json(const std::vector<PastRun>& runs, std::size_t unreadable) {
  Json rows = Json::array();
  for (const PastRun& run : runs) {
    rows.push_back({{"time", run.time},
                    {"headroom", run.headroom},
                    {"family", run.family},
                    {"model", run.model},
                    {"architecture", run.architecture},
                    {"engine", run.engine},
                    {"engine_version", run.engine_version},
                    {"method", run.method},
                    {"device", run.device},
                    {"job", run.job},
                    {"predicted", to_json(run.predicted)},
                    {"measured", to_json(run.measured)},
                    {"outcome", to_string(run.outcome)}});
  }
  return {{"schema", "headroom.past-runs/1"}, {"runs", rows}, {"unreadable", unreadable}};
}

}  // namespace headroom::report
