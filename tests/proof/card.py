# SPDX-License-Identifier: Apache-2.0
"""A machine with small cards, as a folder that headroom reads with --root: their sensors and counters are files that a test writes."""
import pathlib
import subprocess

MIB = 1 << 20
BEGIN = """about = "Small cards with sensors."
kernel = "6.14.0-37-generic"
os = { ID = "debian", PRETTY_NAME = "Debian GNU/Linux 12 (bookworm)" }
ram_kib = 16252928
available_kib = 12582912
ttm = { pages = 2031616 }
dev = ["kfd", "dri/card0", "dri/card1", "dri/renderD128", "dri/renderD129"]
[[kfd_node]]
node = 0
cpu = 24
"""
CARD = """[[gpu]]
pci = "0000:{bus:02x}:00.0"
device = "0x744c"
revision = "0xcc"
vram = {vram}
vram_used = {mib}
gtt = 2147483648
gtt_used = {mib}
board = "cem"
vram_vendor = "samsung"
card = {index}
render = {render}
power = "D0"
iommu = "{iommu}"
[[kfd_node]]
node = {node}
id = {id}
simd = 168
gfx = 110000
device = 29772
location = {location}
domain = 0
render = {render}
bank = {vram}
"""
SENSORS = {"hwmon/hwmon2/name": "amdgpu\n", "hwmon/hwmon2/temp1_input": "52000\n", "hwmon/hwmon2/temp1_crit": "100000\n",
           "hwmon/hwmon2/temp2_input": "66000\n", "hwmon/hwmon2/temp2_crit": "110000\n", "hwmon/hwmon2/power1_average": "210000000\n",
           "hwmon/hwmon2/freq1_input": "2400000000\n", "ras/umc_err_count": "ue: 0\nce: 0\n",
           "aer_dev_correctable": "RxErr 0\nTOTAL_ERR_COR 0\n", "aer_dev_nonfatal": "TOTAL_ERR_NONFATAL 0\n", "aer_dev_fatal": "TOTAL_ERR_FATAL 0\n"}


class Machine:
    def __init__(self, programs, folder, buses=(3,), vram=1024 * MIB, iommu="identity"):
        self.folder = pathlib.Path(folder, "machine")
        text = BEGIN
        for index, bus in enumerate(buses):
            text += CARD.format(bus=bus, vram=vram, mib=MIB, index=index, render=128 + index, node=1 + index, id=5001 + index, location=bus << 8,
                                iommu=iommu)
        description = pathlib.Path(folder, "machine.toml")
        description.write_text(text)
        subprocess.run([pathlib.Path(programs, "fake_machine"), description, self.folder], check=True)
        for index in range(len(buses)):
            self.count_resets(0, index)
        for bus in buses[:1]:
            for name, content in SENSORS.items():
                self.write(name, content, bus)

    def write(self, name, text, bus=3):
        """A file of the card; whole at every moment, as the kernel's are."""
        self.put(f"sys/devices/pci0000:{bus:02x}/0000:{bus:02x}:00.0/{name}", text)

    def count_resets(self, count, index=0):
        self.put(f".headroom/amdgpu_info/renderD{128 + index}", f"ids_flags 0\nvram_lost {count}\n")

    def put(self, path, text):
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        new = place.with_name(place.name + ".new")
        new.write_bytes(text if isinstance(text, bytes) else text.encode())
        new.rename(place)
