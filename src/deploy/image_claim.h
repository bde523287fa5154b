// SPDX-License-Identifier: Apache-2.0
// What the name of a container image claims to hold, and whether that fits the GPUs of a machine.
// A name is no proof: it refuses only where it says plainly that the image is for something else.
#pragma once

#include <string>
#include <string_view>

#include "deploy/gate.h"

namespace headroom::deploy {

// "rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0" → rocm 6.2, torch 2.3.0. Fields
// that the name does not tell are empty.
struct ImageClaim {
  std::string rocm;
  std::string torch;
  std::string gfx;    // "gfx90c", where the tag is of one target.
  bool cuda = false;  // It is made for NVIDIA's.
  bool cpu = false;   // Its tag says so.

  bool operator==(const ImageClaim&) const = default;
};
ImageClaim parse_image_claim(std::string_view image);

// The same image without "rocm" in its tag, which projects with several builds usually name their
// CPU build: "…:v1.2-rocm" → "…:v1.2". Empty where nothing of the tag would be left.
std::string image_without_rocm(std::string_view image);

GateCheck check_image(const std::string& image, const facts::Facts& facts,
                      const knowledge::GpuTables& tables);

}  // namespace headroom::deploy
