// SPDX-License-Identifier: Apache-2.0
#include "trainer/safetensors_file.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "machine/byte_source.h"
#include "machine/os_error.h"
#include "trainer/atomic_file.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

struct DtypeName {
  at::ScalarType dtype;
  std::string_view name;
};
constexpr std::array<DtypeName, 6> dtype_names = {{{at::kFloat, "F32"},
                                                   {at::kBFloat16, "BF16"},
                                                   {at::kHalf, "F16"},
                                                   {at::kDouble, "F64"},
                                                   {at::kByte, "U8"},
                                                   {at::kChar, "I8"}}};

std::optional<at::ScalarType> find_dtype(std::string_view name) {
  for (const DtypeName& known : dtype_names) {
    if (known.name == name) return known.dtype;
  }
  return std::nullopt;
}

std::string name_of(at::ScalarType dtype) {
  for (const DtypeName& known : dtype_names) {
    if (known.dtype == dtype) return std::string(known.name);
  }
  return "";
}

Status read_at(int file, void* data, std::size_t bytes, std::uint64_t offset) {
  auto* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::pread(file, next, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return machine::os_error(errno, "reading");
    if (count == 0) {
      return Error{Errc::invalid, "the file became shorter while it was read",
                   "make sure that nothing else writes it, and start again"};
    }
    next += count;
    offset += static_cast<std::uint64_t>(count);
    bytes -= static_cast<std::size_t>(count);
  }
  return Done{};
}

Result<SafetensorsHeader> read_header(int file) {
  HEADROOM_TRY(const auto bytes, machine::FileBytes::of(file));
  return estimate::read_safetensors_header(bytes);
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::string path, machine::Descriptor file,
                                 SafetensorsHeader header)
    : path_(std::move(path)), file_(std::move(file)), header_(std::move(header)) {}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  machine::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return machine::os_error(errno, "reading " + path);
  auto header = read_header(file.get());
  if (!header) return std::move(header).error().in(path);
  return SafetensorsFile(path, std::move(file), *std::move(header));
}

Result<std::string> SafetensorsFile::read_header_bytes() const {
  std::array<unsigned char, 8> length{};
  HEADROOM_CHECK(read_at(file_.get(), length.data(), length.size(), 0));
  std::uint64_t header_bytes = 0;
  for (std::size_t i = 0; i < length.size(); ++i)
    header_bytes |= std::uint64_t{length[i]} << (8 * i);
  if (header_bytes > estimate::largest_safetensors_header_bytes)  // It was not, a moment ago.
    return Error{Errc::invalid, path_ + ": the file changed while it was read",
                 "make sure that nothing else writes it, and start again"};
  std::string bytes(length.size() + header_bytes, '\0');
  auto status = read_at(file_.get(), bytes.data(), bytes.size(), 0);
  if (!status) return std::move(status).error().in(path_);
  return bytes;
}

Status SafetensorsFile::read_bytes(std::uint64_t offset, const at::Tensor& into) const {
  auto status = read_at(file_.get(), into.data_ptr(), into.nbytes(), offset);
  if (!status) return std::move(status).error().in(path_);
  return status;
}

Status SafetensorsFile::read(const std::string& name, const at::Tensor& into) const {
  return read_part(name, 0, into);
}

Status SafetensorsFile::read_part(const std::string& name, std::int64_t first,
                                  const at::Tensor& into) const {
  if (!into.is_cpu()) {
    const at::Tensor here = at::empty(into.sizes(), into.options().device(at::kCPU));
    HEADROOM_CHECK(read_part(name, first, here));
    into.copy_(here);
    return Done{};
  }
  const SafetensorsEntry& entry = header_.tensors.at(name);
  const auto dtype = find_dtype(entry.dtype);
  const bool converts = dtype && *dtype != into.scalar_type();
  if (!dtype || (converts && !(at::isFloatingType(*dtype) && into.is_floating_point()))) {
    return Error{Errc::unsupported,
                 fmt::format("{}: tensor {} has dtype {}, expected F32, BF16, F16 or F64", path_,
                             name, entry.dtype),
                 "convert the weights to one of these"};
  }
  const std::uint64_t offset =
      entry.offset + static_cast<std::uint64_t>(first) * c10::elementSize(*dtype);
  if (!converts) return read_bytes(offset, into);
  const TagScope scope(allocator::Component::workspace);
  const at::Tensor stored = at::empty(into.sizes(), *dtype);
  HEADROOM_CHECK(read_bytes(offset, stored));
  into.copy_(stored);
  return Done{};
}

std::vector<estimate::NamedSafetensor> describe(const std::vector<NamedTensor>& tensors) {
  std::vector<estimate::NamedSafetensor> entries;
  entries.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    entries.push_back({name,
                       {.dtype = name_of(tensor.scalar_type()),
                        .shape = tensor.sizes().vec(),
                        .bytes = tensor.nbytes()}});
  }
  return entries;
}

Status write_safetensors(const std::string& path, std::vector<estimate::NamedSafetensor> entries,
                         const std::map<std::string, std::string>& metadata,
                         const std::function<std::string(std::string header)>& finish,
                         const std::function<Status(const TensorSink& sink)>& give) {
  HEADROOM_TRY(AtomicFile file, AtomicFile::create(path));
  std::string header = estimate::make_safetensors_header(entries, metadata);
  if (finish) header = finish(std::move(header));
  HEADROOM_CHECK(file.write(header.data(), header.size()));
  HEADROOM_CHECK(
      give([&](const void* data, std::size_t bytes) { return file.write(data, bytes); }));
  return file.commit();
}

Status write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                         const std::map<std::string, std::string>& metadata,
                         const std::function<std::string(std::string header)>& finish) {
  return write_safetensors(path, describe(tensors), metadata, finish,
                           [&](const TensorSink& sink) -> Status {
                             for (const auto& [name, tensor] : tensors) {
                               const at::Tensor here = tensor.cpu();
                               HEADROOM_CHECK(sink(here.data_ptr(), here.nbytes()));
                             }
                             return Done{};
                           });
}

}  // namespace headroom::trainer
