// SPDX-License-Identifier: Apache-2.0
#include "trainer/run_page.h"

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/document.h"
#include "machine/os_error.h"
#include "machine/user_files.h"
#include "report/run_history.h"
#include "report/run_html.h"

namespace headroom::trainer {
namespace {

// Piece by piece: of a long run the file is larger than what the program should take.
Result<report::RunHistory> read_history(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return machine::os_error(errno, "reading " + path);
  report::RunHistoryReader reader;
  std::array<char, std::size_t{64} << 10U> piece{};
  while (file.read(piece.data(), piece.size()) || file.gcount() > 0)
    reader.add(std::string_view(piece.data(), static_cast<std::size_t>(file.gcount())));
  if (file.bad()) return machine::os_error(errno, "reading " + path);
  return reader.finish();
}

// "Qwen2.5-0.5B" of a folder or of a name of a hub; the family of a model that has neither.
std::string name_of(const TrainRequest& request) {
  const Settings& settings = request.settings;
  if (!request.base_model.is_string()) return settings.config.family;
  std::filesystem::path path(request.base_model.get<std::string>());
  path = path.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "folder/"
  const std::string name = path.filename().string();
  return name.empty() || name == "." || name == ".." ? settings.config.family : name;
}

Status write(const TrainRequest& request, const TrainOutcome& outcome, const RunOutput& output) {
  HEADROOM_TRY(const report::RunHistory history, read_history(output.folder() + "/metrics.jsonl"));
  report::RunPicture picture{.name = name_of(request),
                             .report = outcome.report,
                             .history = history,
                             .checkpoints = output.checkpoints()};
  if (outcome.out_of_memory) {
    picture.ended = to_text(*outcome.out_of_memory);
  } else if (!outcome.status) {
    picture.ended = outcome.status.error().message;
    picture.next = outcome.status.error().next;
  }
  return machine::write_file_atomic(output.folder() + "/report.html", to_html(picture));
}

}  // namespace

void write_page(const TrainRequest& request, const TrainOutcome& outcome, const RunOutput& output,
                Observer& observer) {
  const Status written = write(request, outcome, output);
  if (!written) observer.on_note("no page of this run: " + written.error().message);
}

}  // namespace headroom::trainer
