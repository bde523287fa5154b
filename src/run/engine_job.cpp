// SPDX-License-Identifier: Apache-2.0
#include "run/engine_job.h"

#include <utility>

#include "machine/user_files.h"

namespace headroom::run {

std::optional<Document> read_engine_job(const std::string& path, std::string_view kind) {
  if (path.empty() || path == "-") return std::nullopt;
  const auto text = machine::read_file(path);
  if (!text) return std::nullopt;
  auto document = parse_document(*text);
  if (!document || !document->value.is_object()) return std::nullopt;
  const auto engine = document->value.find("engine");
  if (engine == document->value.end() || !engine->is_object()) return std::nullopt;
  const auto found = engine->find("kind");
  if (found == engine->end() || *found != kind) return std::nullopt;
  return *std::move(document);
}

std::string below(const std::string& job_file, const std::string& path) {
  const std::size_t slash = job_file.rfind('/');
  if (path.starts_with('/') || slash == std::string::npos) return path;
  return job_file.substr(0, slash + 1) + path;
}

}  // namespace headroom::run
