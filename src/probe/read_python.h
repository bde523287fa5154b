// SPDX-License-Identifier: Apache-2.0
// The Python stack of a machine, from its files: the interpreter that was named, else the first on
// PATH, else the usual places. Lists folders and reads a few files; walks no tree, imports nothing,
// runs nothing.
#pragma once

#include <string>

#include "facts/python_stack.h"
#include "machine/files.h"

namespace headroom::probe {

struct PythonRequest {
  std::string named;         // An executable, a virtual environment or a folder of packages.
  std::string path;          // PATH; empty: the usual places are looked at.
  std::string home;          // Where a user's own packages are (pip install --user); may be empty.
  std::string library_path;  // LD_LIBRARY_PATH.
};

// Without any Python, or with a name that leads to none, `interpreter` and `folders` say so.
facts::PythonStack read_python(const machine::Files& files, const PythonRequest& request);

}  // namespace headroom::probe
