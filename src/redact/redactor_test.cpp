// SPDX-License-Identifier: Apache-2.0
#include "redact/redactor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "redact/settings.h"
#include "redact/words.h"

namespace headroom::redact {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string zero(1, '\0');
const std::string home = "/home";

Redactor make_redactor() {
  return Redactor({{"tortoise.lab.example.org"}, {"wilhelmina", "jo", "radeon"}, {"radeon"}});
}

// What becomes of a file; and that a second pass leaves it as it is, and counts nothing.
std::string redact_file(const std::string& path, const std::string& bytes) {
  Redactor redactor = make_redactor();
  const std::string once = redactor.file(path, bytes);
  Redactor again = make_redactor();
  EXPECT_EQ(again.file(path, once), once) << path;
  if (!path.ends_with("environ") && !path.ends_with(".sh")) {
    EXPECT_EQ(again.counts(), Counts{}) << path;
  }
  return once;
}

TEST(Redactor, hosts_and_people_go_wherever_they_stand_alone) {
  Redactor redactor = make_redactor();
  EXPECT_EQ(redactor.text("a tortoise.lab.example.org b tortoise c lab.example.org"),
            "a host b host c host");
  EXPECT_EQ(redactor.text(home + "/wilhelmina/x and wilhelmina's; vg_wilhelmina stays a word"),
            home + "/user1/x and user1's; vg_wilhelmina stays a word");
  EXPECT_EQ(redactor.text(home + "/jo/x " + home + "/other.one/y"),
            home + "/user2/x " + home + "/user3/y");
  EXPECT_EQ(redactor.text("tortoises"), "tortoises");
}

TEST(Redactor, a_name_that_is_also_a_word_of_the_machine_goes_only_from_home_folders) {
  Redactor redactor = make_redactor();
  EXPECT_EQ(redactor.text("sys/module/radeon /home/radeon"), "sys/module/radeon /home/user1");
}

TEST(Redactor, equal_ids_stay_equal_in_hexadecimal_and_in_decimal) {
  Redactor redactor = make_redactor();
  const std::string sysfs = redactor.file("sys/devices/x/unique_id", "5a6b7c8d9e0f1122\n");
  const std::string kfd =
      redactor.file("sys/class/kfd/kfd/topology/nodes/1/properties",
                    "simd_count 96\nunique_id 6515438233605574946\nhive_id 0\ndomain 0\n");
  EXPECT_EQ(sysfs, "7ed0000000000001\n");
  EXPECT_EQ(kfd, "simd_count 96\nunique_id 9137803643934736385\nhive_id 0\ndomain 0\n");
  EXPECT_EQ(parse_hex("7ed0000000000001"), parse_u64("9137803643934736385"));
  EXPECT_EQ(redactor.file("sys/devices/y/unique_id", "5a6b7c8d9e0f1123\n"), "7ed0000000000002\n");
  EXPECT_EQ(redactor.report("the card 5a6b7c8d9e0f1122"), "the card 7ed0000000000001");
}

TEST(Redactor, serial_numbers_go_and_their_absence_stays) {
  EXPECT_EQ(redact_file("sys/devices/x/serial_number", "PCB052148-0080\n"), "serial-1\n");
  EXPECT_EQ(redact_file("sys/devices/x/serial_number", "N/A\n"), "N/A\n");
  EXPECT_EQ(redact_file("sys/devices/x/serial_number", "\n"), "\n");
  EXPECT_EQ(redact_file("sys/class/dmi/id/board_serial", "ABC123\n"), "serial-1\n");
  EXPECT_EQ(redact_file("etc/machine-id", "0123456789abcdef0123456789abcdef\n"), "serial-1\n");
  EXPECT_EQ(redact_file("proc/cpuinfo", "model\t: x\nSerial\t\t: 10000000abcdef01\n"),
            "model\t: x\nSerial\t\t: serial-1\n");
}

TEST(Redactor, the_kernel_command_line_keeps_what_drives_the_gpu) {
  const std::string line =
      "BOOT_IMAGE=/boot/vmlinuz-6.14.0-37-generic root=UUID=6b2c1a52-7a0e-4d0a-9b57-0d1c2b3a4f5e "
      "ro quiet splash ttm.pages_limit=30670848 amdgpu.gttsize=-1 iommu=pt "
      "amdgpu.lockup_timeout=10000,60000 pci=noaer modprobe.blacklist=nouveau,radeon "
      "iommu.passthrough=1 vfio-pci.ids=1002:73bf,1002:ab28 mem=16G\n";
  EXPECT_EQ(redact_file("proc/cmdline", line),
            "BOOT_IMAGE=vmlinuz-6.14.0-37-generic root=redacted "
            "ro quiet splash ttm.pages_limit=30670848 amdgpu.gttsize=-1 iommu=pt "
            "amdgpu.lockup_timeout=10000,60000 pci=noaer modprobe.blacklist=nouveau,radeon "
            "iommu.passthrough=1 vfio-pci.ids=1002:73bf,1002:ab28 mem=16G\n");
}

TEST(Redactor, the_kernel_command_line_tells_no_secret) {
  const std::string line =
      "ip=10.1.2.3::10.1.2.1:255.255.255.0:tortoise:eth0 BOOTIF=01-52-54-00-12-34-56 "
      "rd.luks.uuid=luks-6b2c1a52-7a0e-4d0a-9b57-0d1c2b3a4f5e cryptdevice=/dev/sda2:vault "
      "rd.luks.key=/hidden.key wifi.psk=\"open sesame\" my.password=12345 pin=4711 "
      "root=LABEL=wilhelmina-root c2VjcmV0dG9rZW4= API_TOKEN=abc hunter2 "
      "amdgpu.note=\"at 10.1.2.3\" systemd.hostname=tortoise -- --token=xyz deadbeef\n";
  const std::string told = redact_file("proc/cmdline", line);
  for (const char* secret :
       {"10.1.2", "52-54", "6b2c1a52", "vault", "hidden", "sesame", "12345", "4711", "wilhelmina",
        "c2Vj", "abc", "hunter2", "tortoise", "xyz", "deadbeef"}) {
    EXPECT_THAT(told, Not(HasSubstr(secret)));
  }
  EXPECT_THAT(told, HasSubstr("rd.luks.uuid=redacted"));
}

TEST(Redactor, of_a_command_line_the_program_stays) {
  const std::string words = "/opt/tools/python3" + zero + "train.py" + zero + "--token=abc" + zero;
  EXPECT_EQ(redact_file("proc/7/cmdline", words), "python3" + zero);
  EXPECT_EQ(redact_file("proc/7/cmdline", "/opt/chrome --key=abc"), "chrome" + zero);
  EXPECT_EQ(redact_file("proc/7/cmdline", ""), "");
}

TEST(Redactor, of_an_environment_only_what_gpu_software_reads_stays) {
  const std::string variables =
      "HSA_OVERRIDE_GFX_VERSION=10.3.0" + zero + "HF_TOKEN=hf_abc" + zero + "VLLM_API_KEY=k" +
      zero + "USER=wilhelmina" + zero + "PYTORCH_HIP_ALLOC_CONF=expandable_segments:True" + zero +
      "TOKENIZERS_PARALLELISM=false" + zero + "OLLAMA_HOST=10.1.2.3:11434" + zero;
  EXPECT_EQ(redact_file("proc/7/environ", variables),
            "HSA_OVERRIDE_GFX_VERSION=10.3.0" + zero +
                "PYTORCH_HIP_ALLOC_CONF=expandable_segments:True" + zero +
                "TOKENIZERS_PARALLELISM=false" + zero + "OLLAMA_HOST=[redacted]:11434" + zero);
}

TEST(Redactor, shell_files_keep_their_line_numbers_and_nothing_else) {
  EXPECT_EQ(redact_file("etc/profile.d/rocm.sh",
                        "# by wilhelmina\nexport HSA_ENABLE_SDMA=0 MY_SECRET=x # why\n"
                        "curl -H 'Authorization: abc' x\n"
                        "export PYTORCH_HIP_ALLOC_CONF=\"a:1\"\n"
                        "export HIP_VISIBLE_DEVICES=$(cat secret)\n"),
            "\nexport HSA_ENABLE_SDMA=0 redacted\n\nexport PYTORCH_HIP_ALLOC_CONF=\"a:1\"\n"
            "export HIP_VISIBLE_DEVICES=redacted redacted\n");
}

TEST(Redactor, units_keep_sections_and_environment) {
  EXPECT_EQ(
      redact_file("etc/systemd/system/vllm.service",
                  "# note\n[Service]\nExecStart=/usr/bin/vllm --api-key abc \\\n  --more def\n"
                  "Environment=HSA_XNACK=1 \"HF_TOKEN=a b\" \\\n  HIP_VISIBLE_DEVICES=0\n"),
      "\n[Service]\nExecStart=\\\n\nEnvironment=HSA_XNACK=1 redacted \\\n"
      "  HIP_VISIBLE_DEVICES=0\n");
}

TEST(Redactor, modprobe_files_keep_options_on_their_lines) {
  EXPECT_EQ(redact_file("etc/modprobe.d/x.conf",
                        "# wilhelmina, call 555\n\noptions amdgpu gttsize=1024 \\\n  vm_size=512\n"
                        "options cfg80211 ieee80211_regdom=DE key=abc n=3\nblacklist nouveau\n"
                        "install foo /bin/sh -c 'curl secret'\n"),
            "#\n\noptions amdgpu gttsize=1024 \\\n  vm_size=512\n"
            "options cfg80211 ieee80211_regdom=redacted key=redacted n=3\nblacklist nouveau\n"
            "install foo redacted redacted redacted\n");
}

TEST(Redactor, accounts_lose_names) {
  EXPECT_EQ(redact_file("etc/passwd",
                        "root:x:0:0:root:/root:/bin/bash\n"
                        "wilhelmina:x:1000:1000:Wilhelmina Q:/home/wilhelmina:/bin/bash\n"),
            "root:x:0:0:root:/root:/bin/bash\nuser1:x:1000:1000::/home/user1:/bin/bash\n");
  EXPECT_EQ(redact_file("etc/group", "render:x:109:wilhelmina,ollama\n"),
            "render:x:109:user1,ollama\n");
  EXPECT_EQ(redact_file("etc/shadow", "root:$6$abc:1::::::\n"), "redacted");
}

TEST(Redactor, named_secrets_in_configuration_go) {
  EXPECT_EQ(redact_file("etc/docker/daemon.json", R"({"auth": "abc", "storage": "overlay2"})"),
            R"({"auth": "redacted", "storage": "overlay2"})");
  EXPECT_EQ(
      redact_file("proc/mounts", "//nas/x /mnt cifs username=wilhelmina,password=abc,rw 0 0\n"),
      "//nas/x /mnt cifs username=user1,password=redacted,rw 0 0\n");
}

TEST(Redactor, numbers_and_kernel_text_stay_as_they_are) {
  for (const auto& [path, bytes] : std::vector<std::pair<std::string, std::string>>{
           {"proc/meminfo", "MemTotal:       131153920 kB\nKeyless: 1 kB\n"},
           {"proc/modules", "amdgpu 21569536 42 - Live 0x0\n"},
           {"sys/devices/x/mem_info_vram_total", "17163091968\n"},
           {"sys/devices/x/uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0\n"},
           {"proc/7/fdinfo/3", "drm-pdev:\t0000:03:00.0\ndrm-memory-vram:\t12 KiB\n"},
           {"proc/7/cgroup", "0::/system.slice/docker-0123456789abcdef.scope\n"},
           {"etc/os-release", "ID=ubuntu\nVERSION_ID=\"24.04\"\n"}}) {
    EXPECT_EQ(redact_file(path, bytes), bytes);
  }
}

TEST(Redactor, of_open_files_only_gpus_are_told) {
  Redactor redactor = make_redactor();
  EXPECT_EQ(redactor.target("proc/7/fd/3", "/dev/dri/renderD128"), "/dev/dri/renderD128");
  EXPECT_EQ(redactor.target("proc/7/fd/4", "/dev/kfd"), "/dev/kfd");
  EXPECT_EQ(redactor.target("proc/7/fd/5", "/tmp/private"), std::nullopt);
  EXPECT_EQ(redactor.target("opt/x", home + "/wilhelmina/x"), home + "/user1/x");
}

TEST(Words, addresses_are_known_by_their_shape) {
  const auto mark = [](const std::string&) { return std::string("*"); };
  EXPECT_EQ(replace_addresses("at 10.0.0.1, [fe80::1]:22 and 52:54:00:12:34:56", mark),
            "at *, [*]:22 and *");
  EXPECT_EQ(replace_addresses("0000:03:00.0 1.2.3 256.1.1.1 10:20:30", mark),
            "0000:03:00.0 1.2.3 256.1.1.1 10:20:30");
}

TEST(Words, uuids_are_known_by_their_shape) {
  const auto mark = [](const std::string&) { return std::string("*"); };
  EXPECT_EQ(replace_uuids("GPU-6b2c1a52-7a0e-4d0a-9b57-0d1c2b3a4f5e, x", mark), "GPU-*, x");
  EXPECT_EQ(replace_uuids("6b2c1a52-7a0e-4d0a-9b57-0d1c2b3a4f5", mark),
            "6b2c1a52-7a0e-4d0a-9b57-0d1c2b3a4f5");
}

TEST(Settings, names_of_secrets_are_known_by_their_parts) {
  for (const char* name : {"HF_TOKEN", "api-key", "x_apikey", "db.password", "AWS_SECRET_ACCESS",
                           "wifi.psk", "GOOGLE_APPLICATION_CREDENTIALS", "auth", "pin"}) {
    EXPECT_TRUE(looks_secret(name)) << name;
  }
  for (const char* name : {"TOKENIZERS_PARALLELISM", "iommu.passthrough", "amdgpu.gttsize",
                           "HSA_ENABLE_SDMA", "vconsole.keymap", "spin"}) {
    EXPECT_FALSE(looks_secret(name)) << name;
  }
}

}  // namespace
}  // namespace headroom::redact
