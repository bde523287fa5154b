// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "trainer/safetensors_file.h"
#include "trainer/testing/scratch_folder.h"

namespace headroom::trainer {
namespace {

using ::testing::HasSubstr;
using testing::ScratchFolder;

// A file with this header (its length filled in) and this many bytes of data.
std::string make_file(const std::string& header, std::size_t data) {
  std::string file(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(header.size() >> (8 * i) & 0xffU);
  return file + header + std::string(data, 'x');
}

std::string open_error(const ScratchFolder& folder, const std::string& bytes) {
  const auto file = SafetensorsFile::open(folder.write("broken.safetensors", bytes));
  if (file) return "";
  EXPECT_THAT(file.error().message, HasSubstr("broken.safetensors"));
  EXPECT_FALSE(file.error().next.empty());
  return file.error().message;
}

TEST(Safetensors, tensors_and_metadata_survive_a_round_trip) {
  const ScratchFolder folder;
  const std::string path = folder.file("t.safetensors");
  const at::Tensor a = at::randn({3, 5});
  const at::Tensor b = at::randn({7}).to(at::kBFloat16);
  const at::Tensor c = at::tensor(2.5, at::kDouble);
  ASSERT_TRUE(write_safetensors(path, {{"a", a}, {"b", b}, {"c", c}}, {{"format", "pt"}}));
  const auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->metadata().at("format"), "pt");
  EXPECT_EQ(file->tensors().at("a").offset % 8, 0U);
  for (const auto& [name, tensor] : {std::pair{"a", a}, {"b", b}, {"c", c}}) {
    const at::Tensor read = at::empty_like(tensor);
    ASSERT_TRUE(file->read(name, read));
    EXPECT_TRUE(at::equal(read, tensor)) << name;
  }
  const at::Tensor converted = at::empty({7});
  ASSERT_TRUE(file->read("b", converted));
  EXPECT_TRUE(at::equal(converted, b.to(at::kFloat)));
}

// Bytes written by hand after the format's description, not by our writer.
TEST(Safetensors, a_file_of_another_writer_is_read) {
  const ScratchFolder folder;
  std::string bytes = make_file(
      R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[2,10]},"b":{"shape":[1],"data_offsets":[0,2],"dtype":"BF16"}})",
      0);
  bytes += std::string("\x80\x3f", 2) + std::string("\0\0\x80\x3f\0\0\0\xc0", 8);
  const auto file = SafetensorsFile::open(folder.write("f", bytes));
  ASSERT_TRUE(file) << file.error().message;
  const at::Tensor w = at::empty({2});
  const at::Tensor b = at::empty({1}, at::kBFloat16);
  ASSERT_TRUE(file->read("w", w));
  ASSERT_TRUE(file->read("b", b));
  EXPECT_TRUE(at::equal(w, at::tensor({1.0F, -2.0F})));
  EXPECT_EQ(b.item<float>(), 1.0F);
}

TEST(Safetensors, every_broken_file_is_refused_with_what_is_wrong) {
  const ScratchFolder folder;
  const auto entry = [](const std::string& body, std::size_t data) {
    return make_file("{\"w\":{" + body + "}}", data);
  };
  const std::string good = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  EXPECT_EQ(open_error(folder, entry(good, 8)), "");

  EXPECT_THAT(open_error(folder, ""), HasSubstr("found 0 bytes"));
  EXPECT_THAT(open_error(folder, "1234567"), HasSubstr("found 7 bytes"));
  EXPECT_THAT(open_error(folder, std::string(8, '\xff') + "{}"), HasSubstr("announce a header"));
  EXPECT_THAT(open_error(folder, std::string("\x10\0\0\0\0\0\0\0{}", 10)), HasSubstr("16 bytes"));
  EXPECT_THAT(open_error(folder, entry(good, 7)), HasSubstr("cut off"));
  EXPECT_THAT(open_error(folder, entry(good, 9)), HasSubstr("by its header"));
  EXPECT_THAT(open_error(folder, make_file("{", 0)), HasSubstr("not valid JSON"));
  EXPECT_THAT(open_error(folder, make_file("[]", 0)), HasSubstr("no object"));
  EXPECT_THAT(open_error(folder, make_file(std::string(5000, '['), 0)), HasSubstr("deep"));
  EXPECT_THAT(open_error(folder, make_file(R"({"w":3})", 0)), HasSubstr("expected dtype"));
  EXPECT_THAT(open_error(folder, make_file(R"({"__metadata__":{"a":3}})", 0)), HasSubstr("texts"));
  EXPECT_THAT(open_error(folder, make_file(R"({"__metadata__":["a"]})", 0)), HasSubstr("texts"));
  EXPECT_THAT(open_error(folder, make_file("{\"\xff\":{}}", 0)), HasSubstr("not valid JSON"));

  const std::vector<std::string> wrong = {
      R"("dtype":"F32","shape":[2])",
      R"("dtype":"F32","shape":[2],"data_offsets":[0])",
      R"("dtype":"F32","shape":[2],"data_offsets":[0,8,9])",
      R"("dtype":"F32","shape":2,"data_offsets":[0,8])",
      R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])",
      R"("dtype":7,"shape":[2],"data_offsets":[0,8])",
      R"("dtype":"F31","shape":[2],"data_offsets":[0,8])",
      R"("dtype":"F32","shape":[3],"data_offsets":[0,8])",
      R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])",
      R"("dtype":"F32","shape":[2],"data_offsets":[8,0])",
      R"("dtype":"F32","shape":[2],"data_offsets":[-8,0])",
      R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0])",
      R"("dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615])",
      R"("dtype":"F32","shape":[2],"data_offsets":[1,9])",
  };
  for (const std::string& body : wrong) {
    EXPECT_THAT(open_error(folder, entry(body, 8)), HasSubstr("tensor w")) << body;
  }
  const std::string two = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                          R"("b":{"dtype":"U8","shape":[4],"data_offsets":[BEGIN,END]}})";
  const auto place = [&](const std::string& begin, const std::string& end) {
    std::string header = two;
    header.replace(header.find("BEGIN"), 5, begin);
    header.replace(header.find("END"), 3, end);
    return header;
  };
  EXPECT_THAT(open_error(folder, make_file(place("2", "6"), 6)), HasSubstr("overlap"));
  EXPECT_THAT(open_error(folder, make_file(place("5", "9"), 9)), HasSubstr("gap"));
}

TEST(Safetensors, any_damage_to_a_header_is_an_error_or_harmless) {
  std::vector<estimate::NamedSafetensor> entries = {
      {"a", {.dtype = "F32", .shape = {3}, .bytes = 12}},
      {"b", {.dtype = "BF16", .shape = {2, 2}, .bytes = 8}}};
  const std::string good = estimate::make_safetensors_header(entries, {{"k", "v"}}).substr(8);
  const std::uint64_t file_bytes = 8 + good.size() + 20;
  ASSERT_TRUE(estimate::parse_safetensors_header(good, {8 + good.size(), file_bytes}));
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      text[random() % text.size()] =
          static_cast<char>(random() % 2 == 0 ? '0' + random() % 10 : random());
    }
    const auto header = estimate::parse_safetensors_header(text, {8 + good.size(), file_bytes});
    if (!header) {
      ASSERT_FALSE(header.error().next.empty());
      continue;
    }
    for (const auto& [name, entry] : header->tensors) {
      ASSERT_LE(entry.offset + entry.bytes, file_bytes) << text;
    }
  }
}

TEST(Safetensors, weights_in_a_dtype_we_do_not_train_are_refused_by_name) {
  const ScratchFolder folder;
  const auto file = SafetensorsFile::open(
      folder.write("f", make_file(R"({"w":{"dtype":"I8","shape":[2],"data_offsets":[0,2]}})", 2)));
  ASSERT_TRUE(file);
  const auto status = file->read("w", at::empty({2}));
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("tensor w has dtype I8"));
}

TEST(Safetensors, a_failed_write_leaves_the_old_file_and_nothing_else) {
  const ScratchFolder folder;
  const std::string path = folder.file("sub/t");
  const auto missing = write_safetensors(path, {{"a", at::ones({3})}}, {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
  // A folder stands where the file should go: the rename fails after everything was written.
  folder.write("taken/x", "");
  EXPECT_FALSE(write_safetensors(folder.file("taken"), {{"a", at::ones({3})}}, {}));
  std::size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_EQ(entry.path().filename(), "taken");
    ++entries;
  }
  EXPECT_EQ(entries, 1U);
}

}  // namespace
}  // namespace headroom::trainer
