// SPDX-License-Identifier: Apache-2.0
// Follows /events and keeps the page as the last of them says. Everything that is shown is set as text.

(function () {
  "use strict";
  var main = document.getElementById("live");
  var state = document.getElementById("state");
  var units = ["B", "KiB", "MiB", "GiB", "TiB"];
  var kept = 360;  // Points of the curve: half an hour at 5 s.
  var holder_numbers = [1, 2, 3, 4];  // Columns.
  var sections = {};
  var last = 0;

  function human(bytes) {
    var unit = 0;
    if (bytes === null || bytes === undefined) { return "not known"; }
    while (bytes >= 1024 && unit + 1 < units.length) { bytes /= 1024; unit += 1; }
    return (unit === 0 ? String(bytes) : bytes.toFixed(unit >= 3 ? 2 : 1)) + " " + units[unit];
  }
  function make(tag, attributes, children) {
    var node = document.createElement(tag);
    Object.keys(attributes || {}).forEach(function (name) { node.setAttribute(name, attributes[name]); });
    (children || []).forEach(function (child) { node.append(child); });
    return node;
  }
  function say(node, text) { if (node.textContent !== text) { node.textContent = text; } }
  function row(cells, tag, numbers) {
    return make("tr", {}, cells.map(function (cell, at) {
      return make(tag, numbers.indexOf(at) < 0 ? {} : { "class": "number" }, [cell]);
    }));
  }
  function fill(body, rows, numbers) {
    body.replaceChildren.apply(body, rows.map(function (cells) { return row(cells, "td", numbers); }));
  }
  function table(caption, heads, numbers) {
    var body = make("tbody");
    var whole = make("table", {}, [make("caption", {}, [caption]), make("thead", {}, [row(heads, "th", numbers)]), body]);
    return { node: make("div", { "class": "scroll", tabindex: "0", role: "region", "aria-label": caption }, [whole]), body: body };
  }
  function curve() {
    var svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    var line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    svg.setAttribute("class", "chart");
    svg.setAttribute("viewBox", "0 0 " + (kept - 1) + " 100");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    svg.append(line);
    return { node: svg, line: line, points: [] };
  }
  function add_point(chart, share) {
    chart.points.push(share);
    if (chart.points.length > kept) { chart.points.shift(); }
    chart.line.setAttribute("points", chart.points.map(function (value, at) {
      return (kept - chart.points.length + at) + "," + (99 - 98 * Math.min(value, 1)).toFixed(1);
    }).join(" "));
  }
  function new_section(gpu) {
    var id = "gpu-" + gpu.pci.replace(/[^0-9a-z]/gi, "-");
    var own = {
      title: make("h2", { id: id }), used: make("p"), free: make("p"), bar: make("div"), chart: curve(), sensors: make("dl"),
      holders: table("Who holds memory", ["command", "PID", "VRAM", "GTT", "engines", "user", "where"], holder_numbers),
      nobody: make("p", { "class": "faint" }),
      ladder: table("Limits, from the machine down to the job", ["limit", "what it is", "size", "in use"], [2, 3])
    };
    own.meter = make("div", { "class": "meter", role: "meter", "aria-labelledby": id, "aria-valuemin": "0", "aria-valuemax": "100" },
      [own.bar]);
    own.node = make("section", { "aria-labelledby": id }, [own.title, own.used, own.meter, own.free, own.chart.node, own.sensors,
      own.holders.node, own.nobody, make("details", {}, [make("summary", {}, ["The memory ladder"]), own.ladder.node])]);
    return own;
  }
  function sensor_list(sensors) {
    var list = [];
    function add(name, value, unit, digits) { if (value !== null) { list.push([name, value.toFixed(digits) + unit]); } }
    add("busy", sensors.busy === null ? null : 100 * sensors.busy, " %", 0);
    add("memory busy", sensors.memory_busy === null ? null : 100 * sensors.memory_busy, " %", 0);
    add("power", sensors.power_watts, " W", 0);
    add("edge", sensors.edge_celsius, " °C", 0);
    add("junction", sensors.junction_celsius, " °C", 0);
    add("memory", sensors.memory_celsius, " °C", 0);
    add("clock", sensors.core_hertz === null ? null : sensors.core_hertz / 1e6, " MHz", 0);
    add("fan", sensors.fan_rpm, " rpm", 0);
    return list;
  }
  function where(holder) {
    if (holder.whereabouts === "gone") { return "gone: headroom reclaim"; }
    if (holder.whereabouts === "outside") { return "not visible here"; }
    return holder.container ? "container " + holder.container : holder.unit || "";
  }
  function amount(bytes) { return bytes === null ? "–" : human(bytes); }
  function show_memory(own, gpu) {
    var known = gpu.limit_bytes !== null && gpu.used_bytes !== null && gpu.limit_bytes > 0;
    var share = known ? gpu.used_bytes / gpu.limit_bytes : 0;
    own.meter.hidden = !known;
    own.chart.node.style.display = known ? "" : "none";
    own.bar.style.width = (100 * Math.min(share, 1)).toFixed(1) + "%";
    own.meter.className = "meter" + (share >= 0.95 ? " full" : share >= 0.8 ? " high" : "");
    own.meter.setAttribute("aria-valuenow", String(Math.round(100 * Math.min(share, 1))));
    own.meter.setAttribute("aria-valuetext", human(gpu.used_bytes) + " of " + human(gpu.limit_bytes));
    if (known) { add_point(own.chart, share); }
    say(own.used, gpu.asleep ? "Asleep; headroom does not wake it." :
      known ? human(gpu.used_bytes) + " of " + human(gpu.limit_bytes) + " in use (" + (100 * share).toFixed(0) + " %)" :
      "What is in use is not known.");
    say(own.free, gpu.free_bytes === null ? "" :
      human(gpu.free_bytes) + " for a job that starts now (limit: " + gpu.free_rung + ")");
  }
  function show_gpu(gpu) {
    var own = sections[gpu.pci] || (sections[gpu.pci] = new_section(gpu));
    say(own.title, gpu.name + (gpu.gfx ? ", " + gpu.gfx : "") + ", " + gpu.pci);
    show_memory(own, gpu);
    own.sensors.replaceChildren.apply(own.sensors, sensor_list(gpu.sensors).map(function (one) {
      return make("div", {}, [make("dt", {}, [one[0]]), make("dd", {}, [one[1]])]);
    }));
    fill(own.holders.body, gpu.holders.map(function (holder) {
      return [holder.command || "?", String(holder.pid), amount(holder.vram_bytes), amount(holder.gtt_bytes),
        holder.engines === null ? "" : (100 * holder.engines).toFixed(0) + " %", holder.user || "", where(holder)];
    }), holder_numbers);
    own.holders.node.hidden = gpu.holders.length === 0;
    own.nobody.hidden = gpu.holders.length !== 0 || gpu.asleep;
    say(own.nobody, "No process that can be seen holds its memory.");
    fill(own.ladder.body, gpu.ladder.map(function (rung) {
      return [rung.rung + (rung.binding ? " (binds)" : ""), rung.meaning, human(rung.limit_bytes), amount(rung.used_bytes)];
    }), [2, 3]);
    return own.node;
  }
  function list(title, items) {
    return items.length === 0 ? [] : [make("section", {}, [make("h2", {}, [title]), make("ul", {}, items)])];
  }
  function show_findings(findings) {
    return list("Found", findings.filter(function (one) { return one.severity !== "info"; }).map(function (one) {
      var item = make("li", {}, [make("strong", { "class": one.severity }, [one.severity]), " " + one.title]);
      if (one.next) { item.append(make("br"), "Next: ", make("code", {}, [one.next])); }
      return item;
    }));
  }
  function show_past(live) {
    var items = live.deployments.map(function (one) {
      return make("li", {}, [one.service + ": " + (one.outcome || "under way, " + one.stage) +
        (one.cause ? ", " + one.cause : "") + (one.ended ? ", " + one.ended : "")]);
    });
    if (live.runs) {
      items.push(make("li", {}, ["Supervised attempts: " + live.runs.completed + " completed, " + live.runs.out_of_memory +
        " out of memory, " + live.runs.failed + " failed otherwise"]));
    }
    return list("Deployments and runs", items);
  }
  var verdict = make("p", { "class": "verdict", "aria-live": "polite" });
  var found = make("div");
  var past = make("div");
  var usual = 0;  // Milliseconds between two events.
  function show(live) {
    usual = last === 0 ? 0 : Math.min(Date.now() - last, 3600000);
    last = Date.now();
    if (live.error) {
      main.replaceChildren(make("p", { "class": "verdict error", role: "alert" },
        ["The machine could not be looked at: " + live.error]));
      document.title = "unknown – headroom";
      sections = {};
      return;
    }
    say(verdict, live.verdict + ": " + live.summary);
    verdict.className = "verdict " + live.verdict;
    document.title = live.verdict + " – headroom";
    var nodes = [verdict].concat(live.gpus.map(show_gpu), [found, past]);
    var same = nodes.length === main.children.length &&
      nodes.every(function (node, at) { return main.children[at] === node; });
    if (!same) { main.replaceChildren.apply(main, nodes); }
    found.replaceChildren.apply(found, show_findings(live.findings));
    past.replaceChildren.apply(past, show_past(live));
  }
  var connected = false;
  function say_state() {
    var seconds = Math.round((Date.now() - last) / 1000);
    var silent = connected && seconds * 1000 > Math.max(3 * usual, 15000);
    state.className = connected && !silent ? "" : "lost";
    say(state, !connected ? "Connection lost " + seconds + " s ago; what follows is old" :
      silent ? "No news for " + seconds + " s; what follows is old" : "Live");
  }
  show(JSON.parse(document.getElementById("first").textContent));
  var events = new EventSource("/events");
  events.onopen = function () { connected = true; say_state(); };
  events.onerror = function () { connected = false; say_state(); };
  events.onmessage = function (event) { connected = true; show(JSON.parse(event.data)); say_state(); };
  setInterval(say_state, 1000);
}());
