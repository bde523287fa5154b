// SPDX-License-Identifier: Apache-2.0
// How headroom's allocator comes into a command's PyTorch, ONNX Runtime and HIP programs: by
// environment variables alone, which its children have too (torchrun, accelerate launch,
// multiprocessing's spawn).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/command/environment.h"

namespace headroom::run {

// What is injected, as absolute paths.
struct InjectedFiles {
  std::string torch_library;    // libheadroom_torch.so.
  std::string onnx_library;     // libheadroom_onnx.so.
  std::string hip_library;      // libheadroom_hip.so.
  std::string preload_library;  // libheadroom_preload.so, which opens it in programs that use HIP.
  std::string python_site;  // The folder whose sitecustomize.py puts the first two into programs.
};

// Puts a folder first on PYTHONPATH, once. Fails where it has a colon, which PYTHONPATH cannot
// hold; `option` is what the message names.
Status put_on_python_path(const std::string& folder, const std::string& option,
                          std::vector<std::string>& variables);

// Puts the folder first on PYTHONPATH and names the libraries in HEADROOM_TORCH_LIBRARY and
// HEADROOM_ONNX_LIBRARY. `split`: whether a training step that runs out of memory is redone in
// parts, HEADROOM_SPLIT; if nobody said, the variable stays as it is, and unset means yes. The
// library for HIP programs is last on LD_PRELOAD; where its path has a blank or a colon, which
// LD_PRELOAD cannot hold, it is left out, and `environment.said` gets a sentence. Fails where the
// folder has a colon, which PYTHONPATH cannot hold.
Status inject_allocator(const InjectedFiles& files, std::optional<bool> split,
                        CommandEnvironment& environment);

}  // namespace headroom::run
