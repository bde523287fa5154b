// SPDX-License-Identifier: Apache-2.0
// Reads one file as a Text fact; a read error becomes the reason why it is missing.
#pragma once

#include <string>

#include "facts/text_facts.h"
#include "machine/files.h"

namespace headroom::probe {

facts::Text read_text(const machine::Files& files, const std::string& path);
// A folder from which many files are read. Its links are followed once, while the sources of its
// files still name it as people know it.
struct Folder {
  std::string shown;  // "/sys/class/kfd/kfd".
  std::string
      real;  // "/sys/devices/virtual/kfd/kfd"; the same as `shown` where it does not resolve.
};
Folder open_folder(const machine::Files& files, const std::string& path);
facts::Text read_text(const machine::Files& files, const Folder& folder, const std::string& name);

// Reads an answer that is no file (machine/live_answers.h) as a Text fact; its source says `what`
// was asked.
template <class Ask>
facts::Text read_answer(const std::string& what, Ask ask);

facts::Missing to_missing(const Error& error);

template <class Ask>
facts::Text read_answer(const std::string& what, Ask ask) {
  Result<std::string> text = ask();
  const facts::Source source{what, 0, ""};
  if (!text) return {to_missing(text.error()), source};
  return {*std::move(text), source};
}

}  // namespace headroom::probe
