// SPDX-License-Identifier: Apache-2.0
// How headroom's allocator comes into a command's PyTorch and ONNX Runtime: by environment
// variables alone, which its children have too (torchrun, accelerate launch, multiprocessing's
// spawn).
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "run/command/environment.h"

namespace headroom::run {

// What is injected, as absolute paths.
struct InjectedFiles {
  std::string torch_library;  // libheadroom_torch.so.
  std::string onnx_library;   // libheadroom_onnx.so.
  std::string python_site;    // The folder whose sitecustomize.py puts them into programs.
};

// Puts the folder first on PYTHONPATH and names the libraries in HEADROOM_TORCH_LIBRARY and
// HEADROOM_ONNX_LIBRARY. `split`: whether a training step that runs out of memory is redone in
// parts, HEADROOM_SPLIT; if nobody said, the variable stays as it is, and unset means yes. Fails
// where a path has a colon, which PYTHONPATH cannot hold.
Status inject_allocator(const InjectedFiles& files, std::optional<bool> split,
                        CommandEnvironment& environment);

}  // namespace headroom::run
