#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every include under src/ against src/LAYERS.

    check_layers.py [SRC]      exit 0: clean; 1: violations, one a line

A file may include files of its own layer and of the layers that its line names, and a line names no layer that
no file of its own includes. OS headers and OS calls need
the mark "door"; files of a folder testing/ are for tests; a layer marked "pure" must not reach a door through any chain of includes. *_test.cpp may use
the OS (scratch folders), but keeps to the layers.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
OS_HEADER = re.compile(r"^(sys/|linux/|drm/|asm/|net/|arpa/|netinet/|dlfcn\.h|fcntl\.h|unistd\.h|dirent\.h|signal\.h|poll\.h|spawn\.h|"
                       r"pthread\.h|sched\.h|filesystem$|fstream$|thread$|sqlite3\.h$|torch/|ATen/|c10/|hip/|cuda)")
OS_CALL = re.compile(r"\b(getenv|system_clock|steady_clock::now|high_resolution_clock|std::rand|random_device|sleep_for|sleep_until)\b")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def read_layers(src):
    """{layer: (allowed layers, kind)} in file order, and the mistakes of the file itself."""
    layers, mistakes = {}, []
    for line in (src / "LAYERS").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, uses, kind = (part.strip() for part in line.split(":"))
        for used in uses.split():
            if used not in layers:
                mistakes.append(f"LAYERS: {name} uses {used}, which is not above it in the file")
        if kind not in ("", "pure", "door"):
            mistakes.append(f"LAYERS: {name} has the unknown kind '{kind}'")
        layers[name] = (set(uses.split()) | {name}, kind)
    return layers, mistakes


def layer_of(path, layers):
    """The longest layer that is a prefix of the path, or None."""
    for folder in path.parents:
        if str(folder) in layers:
            return str(folder)
    return None


def check(src):
    layers, mistakes = read_layers(src)
    includes = {}  # path → [(is_system, name)]
    needed = {layer: {layer} for layer in layers}  # layer → the layers that its files include
    for path in sorted([*src.rglob("*.h"), *src.rglob("*.cpp")]):
        text = path.read_text()
        name = path.relative_to(src)
        includes[name] = [(kind == "<", target) for kind, target in INCLUDE.findall(text)]
        layer = layer_of(name, layers)
        if layer is None:
            mistakes.append(f"{name}: its folder is not in LAYERS")
            continue
        allowed, kind = layers[layer]
        is_test = name.name.endswith("_test.cpp")
        for system, target in includes[name]:
            if system:
                if OS_HEADER.match(target) and kind != "door" and not is_test:
                    mistakes.append(f"{name}: <{target}> belongs behind a door layer")
                continue
            used = layer_of(pathlib.Path(target), layers)
            if not (src / target).exists():
                mistakes.append(f'{name}: "{target}" is not a file under src/; includes are written from src/')
            elif "testing" in pathlib.Path(target).parts and not is_test and "testing" not in name.parts:
                mistakes.append(f"{name}: {target} is for tests only")
            elif used not in allowed:
                mistakes.append(f"{name}: {layer} may not use {used} ({target})")
            else:
                needed[layer].add(used)
        if kind != "door" and not is_test and name.name != "main.cpp":
            for call in sorted(set(OS_CALL.findall(COMMENT.sub("", text)))):
                mistakes.append(f"{name}: {call} belongs behind a door layer")
    for layer, (allowed, _) in layers.items():
        for unused in sorted(allowed - needed[layer]):
            mistakes.append(f"LAYERS: {layer} need not use {unused}: no include of its files does; remove it from the line")
    for name in includes:
        layer = layer_of(name, layers)
        if layer and layers[layer][1] == "pure" and not name.name.endswith("_test.cpp"):
            mistakes += reached_doors(name, includes, layers)
    return mistakes


def reached_doors(start, includes, layers):
    """The doors that a pure file reaches through its includes, each with the chain that leads there."""
    mistakes, seen, todo = [], {start}, [(start, [])]
    while todo:
        name, chain = todo.pop()
        for system, target in includes.get(name, []):
            path = pathlib.Path(target)
            if system or path in seen:
                continue
            seen.add(path)
            layer = layer_of(path, layers)
            if layer and layers[layer][1] == "door":
                via = f" (through {' → '.join(chain)})" if chain else ""
                mistakes.append(f"{start}: {layer_of(start, layers)} is pure but reaches {target}{via}")
            else:
                todo.append((path, chain + [target]))
    return mistakes


if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent / "src"
    found = check(root)
    for line in found:
        print(line)
    print(f"layers: {len(found)} violations", file=sys.stderr)
    sys.exit(1 if found else 0)
