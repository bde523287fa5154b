// SPDX-License-Identifier: Apache-2.0
// Reads the Python stack of a machine from its files: the interpreter that was named, else the
// first on PATH, else one in the usual places. It lists folders and reads a few files; it searches
// no trees, imports nothing and runs nothing.
#pragma once

#include <string>

#include "facts/python_stack.h"
#include "machine/files.h"

namespace headroom::probe {

struct PythonRequest {
  std::string named;         // An executable, a virtual environment or a folder of packages.
  std::string path;          // PATH; if empty, the usual places are searched.
  std::string home;          // The home folder, for packages of `pip install --user`; may be empty.
  std::string library_path;  // LD_LIBRARY_PATH.
};

// If there is no Python, or the name leads to none, `interpreter` and `folders` say so.
facts::PythonStack read_python(const machine::Files& files, const PythonRequest& request);

}  // namespace headroom::probe
