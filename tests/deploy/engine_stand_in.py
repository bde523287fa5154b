#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for `podman` with `podman compose`, as a program of that name: it starts, watches and ends real processes, and
answers ps, inspect, events and logs in Podman's own words (podman-inspect(1), podman-events(1) of Podman 5.4). Its
containers have no root, no network and no limits of their own; each has a process that watches it, as conmon does.

Containers are in the folder that HEADROOM_TEST_ENGINE names. Compose files are read as far as the tests write them.
"""
import datetime
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

PLACE = pathlib.Path(os.environ["HEADROOM_TEST_ENGINE"])


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def as_text(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"


def read_value(text):
    text = text.strip()
    if text.startswith(("[", '"')):
        return json.loads(text)
    return int(text) if text.isdigit() else text


def read_block(lines, depth):
    """The maps, lists and scalars of block YAML."""
    if lines and lines[0].strip().startswith("- "):
        items = []
        while lines and len(lines[0]) - len(lines[0].lstrip()) >= depth:
            items.append(read_value(lines.pop(0).strip()[2:]))
        return items
    found = {}
    while lines:
        indent = len(lines[0]) - len(lines[0].lstrip())
        if indent < depth:
            break
        key, value = lines.pop(0).strip().split(":", 1)
        found[key] = read_value(value) if value.strip() else read_block(lines, indent + 1)
    return found


def read_compose(path):
    lines = [one for one in path.read_text(encoding="utf-8").splitlines() if one.strip() and one.strip()[0] != "#"]
    return read_block(lines, 0)


def load(one):
    return json.loads((PLACE / one / "state.json").read_text(encoding="utf-8"))


def store(state):
    path = PLACE / state["Id"] / "state.json"
    path.with_suffix(".new").write_text(json.dumps(state), encoding="utf-8")
    path.with_suffix(".new").replace(path)


def tell(state, status, code=None):
    event = {"ID": state["Id"], "Image": "photos", "Name": state["Name"], "Status": status, "Type": "container",
             "time": int(time.time()), "timeNano": time.time_ns(), "Attributes": {}}
    if code is not None:
        event["ContainerExitCode"] = code
    with open(PLACE / "events", "a", encoding="utf-8") as file:
        file.write(json.dumps(event) + "\n")


def all_containers():
    return [load(one.parent.name) for one in sorted(PLACE.glob("*/state.json"))]


def watch(one):
    """The life of a container, as conmon and its engine's policy for restarts lead it."""
    state = load(one)
    folder = PLACE / one
    environment = dict(os.environ, **{key: str(value) for key, value in state["Environment"].items()})
    while True:
        with open(folder / "log", "a", encoding="utf-8") as log:
            child = subprocess.Popen(state["Command"], cwd=state["Folder"], env=environment, stdin=subprocess.DEVNULL,
                                     stdout=log, stderr=log, start_new_session=True)
        state["State"].update(Status="running", Running=True, Pid=child.pid, StartedAt=as_text(now()), ExitCode=0)
        store(state)
        tell(state, "start")
        code = child.wait()
        code = code if code >= 0 else 128 - code
        try:
            os.killpg(child.pid, signal.SIGKILL)  # The first process of a container takes the others with it.
        except ProcessLookupError:
            pass
        state["State"].update(Status="exited", Running=False, Pid=0, ExitCode=code, FinishedAt=as_text(now()))
        tell(state, "died", code)
        store(state)
        if (folder / "stopped").exists() or state["HostConfig"]["RestartPolicy"]["Name"] != "always":
            return
        time.sleep(0.1)
        state["RestartCount"] += 1


def is_watched(state):
    return state["State"]["Status"] == "running" and pathlib.Path(f"/proc/{state['State']['Pid']}").exists()


def launch(one):
    (PLACE / one / "stopped").unlink(missing_ok=True)
    before = load(one)["State"]["StartedAt"]
    subprocess.Popen([sys.executable, __file__, "conmon", one], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL, start_new_session=True)
    while load(one)["State"]["StartedAt"] == before:
        time.sleep(0.01)


def up(files, project, name):
    service = read_compose(files[0])["services"].get(name)
    if service is None:
        sys.exit(f"Error: no such service: {name}")
    if "missing" in service["image"]:
        # As podman-compose repeats what it calls, secrets included.
        print(f"podman run --name={project}_{name}_1 -e SECRET=hushhush", file=sys.stderr)
        sys.exit(f"Error: {service['image']}: image not known")
    for count in range(1, service.get("scale", 1) + 1):
        named = f"{project}_{name}_{count}"
        for old in all_containers():
            if old["Name"] == named:
                stop(old["Id"], 10)
                (PLACE / old["Id"] / "state.json").unlink()
        one = hashlib.sha256(f"{named} {time.time_ns()}".encode()).hexdigest()
        (PLACE / one).mkdir()
        store({"Id": one, "Name": named, "Command": service["command"], "Environment": service.get("environment", {}),
               "Folder": str(files[0].parent), "RestartCount": 0,
               "State": {"OciVersion": "1.2.0", "Status": "created", "Running": False, "OOMKilled": False, "Pid": 0,
                         "ExitCode": 0, "Error": "", "StartedAt": "0001-01-01T00:00:00Z",
                         "FinishedAt": "0001-01-01T00:00:00Z"},
               "Config": {"Env": ["SECRET=hushhush"], "Labels": {
                   "com.docker.compose.project": project, "com.docker.compose.service": name,
                   "com.docker.compose.project.working_dir": str(files[0].parent),
                   "com.docker.compose.project.config_files": ",".join(str(file) for file in files)}},
               "HostConfig": {"Memory": 0, "RestartPolicy": {"Name": service.get("restart", "no"),
                                                             "MaximumRetryCount": 0}}})
        launch(one)


def stop(one, patience_s):
    (PLACE / one / "stopped").touch()
    deadline = time.monotonic() + patience_s
    sent = False
    while is_watched(load(one)):
        pid = load(one)["State"]["Pid"]
        try:
            if time.monotonic() > deadline:
                os.killpg(pid, signal.SIGKILL)
            elif not sent:
                os.kill(pid, signal.SIGTERM)
                sent = True
        except ProcessLookupError:
            pass
        time.sleep(0.02)


def compose(words):
    if words[0] == "version":
        return print("podman-compose version 1.3.0")
    files, project = [], None
    while words[0].startswith("-"):
        option, value = words.pop(0), words.pop(0)
        if option == "-f":
            files.append(pathlib.Path(value))
        if option == "-p":
            project = value
    assert words[:3] == ["up", "-d", "--no-deps"], words
    return up(files, project, words[-1])


def events(words):
    since = datetime.datetime.fromisoformat(words[words.index("--since") + 1].replace("Z", "+00:00"))
    one = words[words.index("--filter") + 1].removeprefix("container=")
    path = PLACE / "events"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        event = json.loads(line)
        if event["ID"] == one and event["timeNano"] >= since.timestamp() * 1e9:
            print(line)


def inspect(ids):
    found = [one for one in all_containers() if one["Id"] in ids]
    print(json.dumps([{key: one[key] for key in ("Id", "Name", "State", "RestartCount", "Config", "HostConfig")}
                      for one in found]))
    if len(found) != len(ids):
        sys.exit(f"Error: no such container {ids[0]}")


def main():
    what, words = sys.argv[1], sys.argv[2:]
    if what == "conmon":
        watch(words[0])
    elif what == "ps":
        label = words[words.index("--filter") + 1] if "--filter" in words else "label="
        for one in all_containers():
            if label.split("=")[-1] in ("", one["Config"]["Labels"]["com.docker.compose.service"]):
                print(one["Id"])
    elif what == "inspect":
        inspect(words[2:])
    elif what == "events":
        events(words)
    elif what == "logs":
        print((PLACE / words[-1] / "log").read_text(encoding="utf-8"), end="")
    elif what == "stop":
        patience = int(words[1]) if words[0] == "-t" else 10
        for one in words[2:] if words[0] == "-t" else words:
            stop(one, patience)
    elif what == "kill":
        for one in words[2:]:
            stop(one, 0)
    elif what == "compose":
        compose(words)
    else:
        sys.exit(f"Error: unrecognized command `podman {what}`")


if __name__ == "__main__":
    main()
