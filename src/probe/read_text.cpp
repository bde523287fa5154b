// SPDX-License-Identifier: Apache-2.0
#include "probe/read_text.h"

namespace headroom::probe {

facts::Missing to_missing(const Error& error) {
  switch (error.code) {
    case Errc::not_found:
      return {facts::Why::not_present, ""};
    case Errc::no_permission:
      return {facts::Why::no_permission, ""};
    default:
      return {facts::Why::unreadable, error.message};
  }
}

facts::Text read_text(const machine::Files& files, const std::string& path) {
  auto text = files.read(path);
  if (text) return {*std::move(text), facts::Source{path, 0, ""}};
  return {to_missing(text.error()), facts::Source{path, 0, ""}};
}

Folder open_folder(const machine::Files& files, const std::string& path) {
  const auto real = files.resolve(path);
  return {path, real ? *real : path};
}

facts::Text read_text(const machine::Files& files, const Folder& folder, const std::string& name) {
  auto text = read_text(files, folder.real + "/" + name);
  facts::Source source{folder.shown + "/" + name, 0, ""};
  if (!text) return {text.missing(), std::move(source)};
  return {*text, std::move(source)};
}

}  // namespace headroom::probe
