// SPDX-License-Identifier: Apache-2.0
#include "capture/redact_recording.h"

namespace headroom::capture {

using machine::Recording;
using redact::Redactor;

Recording redact_recording(const Recording& recording, Redactor& redactor) {
  Recording out;
  for (const auto& [path, bytes] : recording.files) {
    out.files.emplace(redactor.text(path), redactor.file(path, bytes));
  }
  for (const auto& [path, target] : recording.links) {
    auto told = redactor.target(path, target);
    if (told) out.links.emplace(redactor.text(path), *std::move(told));
  }
  for (const std::string& path : recording.folders) out.folders.insert(redactor.text(path));
  for (const std::string& path : recording.stand_ins) {
    if (!Redactor::is_open_file(path)) out.stand_ins.insert(redactor.text(path));
  }
  for (const auto& [path, reason] : recording.refused) {
    out.refused.emplace(redactor.text(path), redactor.text(reason));
  }
  for (const auto& [question, error] : recording.unanswered) {
    Error told = error;
    told.message = redactor.text(error.message);
    out.unanswered.emplace(redactor.text(question), std::move(told));
  }
  return out;
}

}  // namespace headroom::capture
