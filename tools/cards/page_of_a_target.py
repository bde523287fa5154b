# SPDX-License-Identifier: Apache-2.0
"""One page of docs/cards: what data/ says of a GPU target, in sentences. The words of the tables are taken as they are;
what is concluded from several of them stands under "Our judgement"."""
import tomllib

DEVICE_TABLES = ("gpus", "cards", "devices", "stacks", "overrides", "advisories", "virtual_memory")
NVIDIA_ARCH = "arch"  # Only cards of another vendor have it.
RESETS = {"mode1": "mode1: what is in the card's memory is lost", "mode2": "mode2: memory is kept",
          "baco-or-mode1": "BACO or mode1: what is in the card's memory is lost",
          "baco-or-legacy": "BACO or PCI: what is in the card's memory is lost"}
INTEGRATED_MEMORY = """An integrated GPU has no memory of its own but the carve-out that the BIOS gives it. The machine's limits decide
what a job gets: `headroom check` shows them, and `headroom fix ttm-cap` raises the kernel's. `headroom help apu` explains it."""
NO_FIGURES = """The tables have no figures for these cards. `headroom check` reads the memory from the driver, and
`headroom plan --capacity SIZE` plans for it."""
FIX_STACK = """`headroom fix stack` writes the requirements file for the machine that it runs on, and `headroom check` reads which
targets the installed wheel really includes."""
NEAR_STACK = """No wheel includes it. The code of a closely related target runs with the override below: `headroom fix stack` shows both."""
ROCK = {"ready": "tested on", "builds": "compiled for and not tested on"}
NO_FUSED_ATTENTION = """none, so attention needs memory that grows with the square of the sequence.
  Plan with `headroom plan --attention math`."""
BUY = {
    "official": """Support speaks for it. Look at the memory first: `headroom plan` says which cards hold a job.""",
    "community": """If you have it, use it. To buy one, prefer a card on AMD's list: programs that come with PyTorch's own wheels
  do not run here until TheRock's are put in their place.""",
    "dropped": """Only for its price and memory, and if you can live with pinned versions. Newer releases of programs will
  ask for a newer PyTorch.""",
    "override": "No.",
    "unsupported": "No.",
}
INSTEAD = {
    "dropped": "for inference alone, Vulkan (llama.cpp) needs no old stack.",
    "override": "Vulkan or the CPU, for anything that has to be dependable.",
    "unsupported": """the CPU (PyTorch's +cpu wheel), or Vulkan, which needs no ROCm: llama.cpp and whisper.cpp built with
  -DGGML_VULKAN=ON, or a build of ncnn. Keep `/dev/kfd` out of containers, so that nothing tries ROCm.""",
}
MORE_RAM = """the GPU's memory is the machine's RAM, and jobs and the system share it. The kernel's default gives the GPU half.
  More RAM is more memory for jobs. `headroom check --if ram=SIZE` computes the limits of another amount."""
EFFECTS = {"bad": "jobs fail", "unstable": "jobs may fail", "note": "to know"}


class Tables:
    """The tables of data/, by target."""

    def __init__(self, folder):
        read = {name: tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8")) for name in DEVICE_TABLES}
        self.rocm = read["gpus"]["rocm"]
        self.sources = read["gpus"]["sources"]
        self.targets = {target["gfx"]: target for target in read["gpus"]["target"]}
        self.card_groups = read["cards"]["group"]
        self.device_groups = read["devices"]["group"]
        self.indexes = read["stacks"]["indexes"]
        self.stacks = {stack["gfx"]: stack for stack in read["stacks"]["stack"]}
        self.overrides = read["overrides"]["override"]
        self.advisories = read["advisories"]["advisory"]
        self.fixes = {fix["id"]: fix for fix in read["advisories"]["kernel_fix"]}
        self.first_kernels = {row["gfx"]: row for row in read["advisories"]["first_kernel"]}
        self.denied = read["virtual_memory"]["deny"]

    def cards(self, gfx):
        """(name, card, group) of the cards whose memory is known."""
        return [(name, card, group) for group in self.card_groups for name, card in group["cards"].items()
                if NVIDIA_ARCH not in card and card["gfx"] == gfx]

    def names(self):
        """(target, name) of every device and card that has a name."""
        for group in self.device_groups:
            for device in group["device"].values():
                for name in [device["name"], *device.get("revisions", {}).values()]:
                    yield device["gfx"], name
        for group in self.card_groups:
            for name, card in group["cards"].items():
                if NVIDIA_ARCH not in card:
                    yield card["gfx"], name if name.startswith(("Radeon", "Instinct")) else f"Radeon {name}"


def origin(row):
    return f"Sure: {row['certainty']}. From: {row['source']}."


def overrides_of(tables, gfx):
    return [row for row in tables.overrides if gfx in row["on"]]


def support(tables, target):
    """The word that `headroom check` uses: src/knowledge/gpu_tables.cpp has the same rule."""
    if "official" in target:
        return "official" if target["official"][1] == "current" else "dropped"
    if target.get("therock") == "ready":
        return "community"
    for row in overrides_of(tables, target["gfx"]):
        if row["risk"] == "low" or (row["risk"] == "medium" and target["kind"] == "discrete"):
            return "override"
    return "unsupported"


def in_short(tables, target):
    word, gfx = support(tables, target), target["gfx"]
    if word in ("official", "dropped"):
        first, last = (release.replace("~", "about ") for release in target["official"])
        if word == "official":
            return f"AMD supports it: ROCm lists it from {first} to {tables.rocm}, the newest release that these tables know."
        return f"ROCm listed it from {first} to {last} and dropped it. The hardware still works, with a stack that still includes it."
    if word == "community":
        return "AMD never listed it, but TheRock, AMD's open build, releases ROCm and PyTorch that are tested for it."
    if word == "override":
        return "Only code that was compiled for a near target runs on it. Nobody tests that."
    return (f"No release of ROCm up to {tables.rocm} lists {gfx}, TheRock does not release for it, and no way is known that a job "
            "could depend on.")


def cards_section(tables, target):
    rows = tables.cards(target["gfx"])
    lines = ["## Cards and memory", ""]
    if target["kind"] == "integrated":
        lines += [INTEGRATED_MEMORY]
    if target["kind"] == "both":
        lines += ["Of its integrated chips the machine's limits decide: `headroom check` shows them.", ""]
    if rows:
        lines += ["| card | memory | class | half precision | bandwidth | memory: sure, from |", "|---|---|---|---|---|---|"]
        for name, card, group in rows:
            figures = f"{card['vram_mib'] / 1024:.2f} GiB | {card['class']} | {card['tflops16']} TFLOPS | {card['gb_s']} GB/s"
            lines.append(f"| {name} | {figures} | {group['certainty']}: {group['source']} |")
        lines += ["", "Memory is what the kernel reports. Speeds are peaks from the makers' data sheets (C), and no promise."]
    elif target["kind"] != "integrated":
        lines += [NO_FIGURES]
    return lines


def works_section(tables, target):
    kind = "integrated and discrete" if target["kind"] == "both" else target["kind"]
    chips = f"{target['family']}, {target['chip']}; {kind}; wavefronts of {target['wave']} lanes"
    lines = ["## What works", "", f"- **Chips**: {chips}."]
    torch = {"current": "in today's list", "legacy": "in older lists only"}.get(target.get("torch"), "never in the list")
    lines.append(f"- **PyTorch's own wheels for ROCm**: {torch}.")
    rock = {"ready": "tested and released for it", "builds": "compiled and published, untested"}
    lines.append(f"- **TheRock's wheels**: {rock.get(target.get('therock'), 'not released for it')}.")
    if support(tables, target) != "unsupported":
        attention = {"yes": "yes.", "experimental": "experimental."}.get(target.get("attention"), NO_FUSED_ATTENTION)
        lines.append(f"- **Fused attention in PyTorch**: {attention}")
    if "without" in target:
        lines.append(f"- **Left out by TheRock**: {', '.join(target['without'])}. What needs them falls back to slower ways.")
    if "generic" in target:
        lines.append(f"- **Also runs code for** `{target['generic']}`.")
    if "note" in target:
        lines.append(f"- {target['note']}")
    lines += ["", origin(target)]
    return lines


def stack_section(tables, target):
    """The stack that was tried comes first; then the wheels that are built today."""
    gfx, stack, built = target["gfx"], tables.stacks.get(target["gfx"]), target.get("therock")
    lines = ["## Which stack and wheels", ""]
    if not stack and not built:
        return lines + [NEAR_STACK if support(tables, target) == "override" else "None. `headroom fix stack` says so here."]
    if stack:
        lines += ["```", f"pip install {stack['torch']} --index-url {tables.indexes['torch']}{stack['index']}", "```", "",
                  f"- ROCm: {stack['rocm']}.", f"- Python: {stack['python']}."]
        if "also" in stack:
            lines.append(f"- Also: {stack['also']}.")
        lines += [f"- Known by: {stack['evidence']}.", "", origin(stack), ""]
    if built:
        lines += ["Or:", ""] if stack else []
        lines += ["```", f'pip install "torch[device-{gfx}]" --index-url {tables.indexes["device"]}', "```", "",
                  f"These are AMD's wheels, {ROCK[built]} this target.", ""]
    return [*lines, FIX_STACK]


def span(since, before):
    """The versions from one to before another; the tables write 0 and 99 where there is no such border."""
    if since == "0":
        return f"before {before}"
    return f"{since} and later" if before == "99" else f"{since} to before {before}"


def spans(ranges):
    return ", ".join(span(*entry.split("..")) for entry in ranges)


def conditions(tables, row):
    parts = []
    if "kernel" in row:
        since, _, before = row["kernel"].partition("..")
        parts.append(f"Linux {span(since, before)}")
    for word in ("without", "with"):
        if word in row:
            fix = tables.fixes[row[word]]
            parts.append(f"a kernel {word} {fix['what']} (mainline: {fix['mainline']})")
    if "rocm" in row:
        parts.append(f"ROCm {spans(row['rocm'])}")
    if "firmware" in row:
        parts.append(f"{row['firmware']['name']} firmware {row['firmware']['is']}")
    if "unless" in row:
        parts.append(f"unless {row['unless']} is set")
    return "; ".join(parts) or "always"


def limits_section(tables, target):
    gfx, lines = target["gfx"], ["## Limits", ""]
    first = tables.first_kernels.get(gfx)
    if first:
        lines.append(f"- **Kernel**: Linux {first['since']} or later. {origin(first)}")
    if target.get("pcie_atomics"):
        without = target.get("mec_without_atomics")
        unless = f", unless the MEC firmware is {without} or later" if without else ""
        lines.append(f"- **Board**: the slot has to do PCIe atomics{unless}; otherwise the compute driver leaves the card out. "
                     f"Sure: {target['certainty']}.")
    if target.get("vgprs_1_5x"):
        lines.append("- **Registers**: 1.5 times the vector registers of its relatives; its code may not run on them.")
    if "reset" in target:
        integrated = f" Integrated: {RESETS[target['reset_integrated']]}." if "reset_integrated" in target else ""
        lines += [f"- **A reset by the driver** is {RESETS[target['reset']]}.{integrated}", "  It ends every job on the GPU, the desktop included. Sure: A for the method, C for what is lost."]
    for row in tables.denied:
        if gfx in row["gfx"]:
            lines += [f"- **Virtual memory** is not used by headroom's allocator with HIP {spans(row['hip'])}: {row['happens']}",
                      f"  {origin(row)}"]
    return lines if len(lines) > 2 else lines + ["None that the tables know."]


def advisories_section(tables, target):
    gfx = target["gfx"]
    integrated = target["kind"] != "discrete"
    rows = [row for row in tables.advisories if gfx in row.get("gfx", []) or (row.get("integrated") and integrated)]
    if not rows:
        return []
    lines = ["## Known to go wrong", ""]
    for row in rows:
        todo = row["do"] if isinstance(row["do"], str) else " ".join(row["do"])
        lines += [f"- **{row['id']}** ({EFFECTS[row['effect']]}), where: {conditions(tables, row)}.", f"  {row['happens']}",
                  f"  *What to do*: {todo}", f"  {origin(row)}"]
    return lines


def override_section(tables, target):
    lines = ["## HSA_OVERRIDE_GFX_VERSION", ""]
    rows = overrides_of(tables, target["gfx"])
    if not rows:
        return lines + ["Leave it unset. Every value that is not the target's own is dangerous here."]
    lines += ["Leave it unset if a wheel includes the target. Every value that is not listed, and is not the target's own, is",
              "dangerous.", "",
              "| value | risk | why | sure | from |", "|---|---|---|---|---|"]
    for row in rows:
        value = "any other" if row["value"] == "*" else f"`{row['value']}`"
        lines.append(f"| {value} | {row['risk']} | {row['why']} | {row['certainty']} | {row['source']} |")
    return lines


def judgement_section(tables, target):
    word = support(tables, target)
    lines = ["## Our judgement", "", "Concluded from the rows above (D).", "", f"- **Buy it for ROCm?** {BUY[word]}"]
    if word in INSTEAD:
        lines.append(f"- **Use instead**: {INSTEAD[word]}")
    if target["kind"] == "integrated" and word in ("official", "community"):
        lines.append(f"- **RAM**: {MORE_RAM}")
    if target.get("pcie_atomics"):
        lines.append("- **Board**: put it into a slot that is wired to the processor.")
    return [*lines, "- **Power supply, cooling, price**: the tables know nothing of them."]


def page(tables, target):
    title = f"# {target['gfx']}: {target['cards']}"
    made = (f"Made from the tables in `data/`, as of ROCm {tables.rocm}. [docs/gpus.md](../gpus.md) explains the letters of the "
            "sources. [All cards](README.md)")
    head = [title, "", made, "", f"**{support(tables, target)}**: {in_short(tables, target)}"]
    makers = (works_section, stack_section, cards_section, limits_section, advisories_section, override_section,
              judgement_section)
    sections = [head, *(make(tables, target) for make in makers)]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"
