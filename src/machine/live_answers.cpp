// SPDX-License-Identifier: Apache-2.0
#include "machine/live_answers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cerrno>

#include "machine/descriptor.h"
#include "machine/os_error.h"

namespace headroom::machine {
namespace {

// Linux's include/uapi/linux/kfd_ioctl.h, which does not compile beside libdrm's headers.
struct KfdAvailableMemory {
  std::uint64_t available;  // From the driver, in bytes.
  std::uint32_t gpu_id;
  std::uint32_t pad;
};
constexpr unsigned long kfd_available_memory = _IOWR('K', 0x23, KfdAvailableMemory);

Result<Descriptor> open_device(const std::string& path) {
  Descriptor device(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (device.get() < 0) return os_error(errno, "opening " + path);
  return device;
}

// One AMDGPU_INFO query into `value`, whose size the kernel respects; false where it refuses.
template <class T>
bool query(const Descriptor& device, std::uint32_t what, T& value) {
  drm_amdgpu_info request{};
  request.return_pointer = reinterpret_cast<std::uintptr_t>(&value);
  request.return_size = sizeof value;
  request.query = what;
  return ::ioctl(device.get(), DRM_IOCTL_AMDGPU_INFO, &request) == 0;
}

void add_heap(std::string& text, const char* name, const drm_amdgpu_heap_info& heap) {
  text += fmt::format("{0}_total {1}\n{0}_used {2}\n{0}_largest {3}\n", name, heap.total_heap_size,
                      heap.heap_usage, heap.max_allocation);
}

Result<std::string> ask_amdgpu(const std::string& path) {
  HEADROOM_TRY(const Descriptor device, open_device(path));
  drm_amdgpu_info_device info{};
  if (!query(device, AMDGPU_INFO_DEV_INFO, info)) {
    return os_error(errno, "asking " + path + " with AMDGPU_INFO");
  }
  std::string text = fmt::format("ids_flags {}\n", info.ids_flags);
  drm_amdgpu_memory_info memory{};
  if (query(device, AMDGPU_INFO_MEMORY, memory)) {
    add_heap(text, "vram", memory.vram);
    add_heap(text, "visible_vram", memory.cpu_accessible_vram);
    add_heap(text, "gtt", memory.gtt);
  }
  std::uint64_t evictions = 0;
  if (query(device, AMDGPU_INFO_NUM_EVICTIONS, evictions)) {
    text += fmt::format("evictions {}\n", evictions);
  }
  std::uint32_t lost = 0;
  if (query(device, AMDGPU_INFO_VRAM_LOST_COUNTER, lost))
    text += fmt::format("vram_lost {}\n", lost);
  return text;
}

Result<std::string> ask_kfd(const std::vector<std::uint64_t>& gpu_ids) {
  HEADROOM_TRY(const Descriptor device, open_device("/dev/kfd"));
  std::string text;
  for (const std::uint64_t id : gpu_ids) {
    KfdAvailableMemory request{};
    request.gpu_id = static_cast<std::uint32_t>(id);
    if (::ioctl(device.get(), kfd_available_memory, &request) == 0) {
      text += fmt::format("{} {}\n", id, request.available);
    }
  }
  return text;
}

Result<std::string> ask_ownership(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return os_error(errno, "looking at " + path);
  return fmt::format("mode {:04o}\nuid {}\ngid {}\n", status.st_mode & 07777U, status.st_uid,
                     status.st_gid);
}

}  // namespace

Result<std::string> read_amdgpu_info(const Files& files, std::uint64_t render_minor) {
  return files.ask(fmt::format("amdgpu_info/renderD{}", render_minor),
                   [&] { return ask_amdgpu(fmt::format("/dev/dri/renderD{}", render_minor)); });
}

Result<std::string> read_kfd_free(const Files& files, const std::vector<std::uint64_t>& gpu_ids) {
  return files.ask("kfd_available_memory", [&] { return ask_kfd(gpu_ids); });
}

Result<std::string> read_ownership(const Files& files, const std::string& path) {
  return files.ask("ownership" + path, [&] { return ask_ownership(path); });
}

}  // namespace headroom::machine
