// SPDX-License-Identifier: Apache-2.0
#include "report/plan_page_assets.h"

namespace headroom::report {

const std::string_view plan_page_style = R"css(
:root { --paper: #ffffff; --ink: #1b1e23; --faint: #5b6270; --line: #d9dde3; --panel: #f5f6f8;
  --context: #b4b9c2; --alarm: #a3220f; --good: #1c6b35;
  --weights: #332288; --adapters: #cc6677; --gradients: #117733; --optimizer: #ddcc77; --activations: #88ccee;
  --logits: #882255; --kv_cache: #44aa99; --workspace: #999933; --other: #aa4499; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181c; --ink: #e6e9ee; --faint: #a0a8b4; --line: #343a43;
  --panel: #1d2127; --context: #59606c; --alarm: #ff8f7a; --good: #7fd79a; --weights: #6f5fd6; --logits: #c4467f;
  --gradients: #2f9e54; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 72rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
p { margin: .25rem 0 .75rem; } .faint { color: var(--faint); }
.verdict { font-size: 1.15rem; font-weight: 600; } .fits { color: var(--good); } .fails { color: var(--alarm); }
figure { margin: 1rem 0; } figcaption { color: var(--faint); font-size: .9rem; }
.chart { display: block; width: 100%; height: auto; background: var(--paper); }
.chart text { font: 12px system-ui, sans-serif; fill: var(--ink); }
.chart .tick { text-anchor: end; fill: var(--faint); } .chart .phase-name { text-anchor: middle; }
.chart .label { font-weight: 600; }
.grid { stroke: var(--line); } .border { stroke: var(--faint); stroke-width: .75; stroke-dasharray: 2 3; }
.gap { stroke: var(--ink); stroke-width: 2; stroke-dasharray: 2 4; }
.phase { fill: var(--panel); stroke: var(--line); } .context { fill: var(--context); }
.area { stroke-width: .6; } .backing { fill: var(--paper); opacity: .85; }
.component-weights { fill: var(--weights); stroke: var(--weights); } .component-adapters { fill: var(--adapters); stroke: var(--adapters); }
.component-gradients { fill: var(--gradients); stroke: var(--gradients); } .component-optimizer { fill: var(--optimizer); stroke: var(--optimizer); }
.component-activations { fill: var(--activations); stroke: var(--activations); } .component-logits { fill: var(--logits); stroke: var(--logits); }
.component-kv_cache { fill: var(--kv_cache); stroke: var(--kv_cache); } .component-workspace { fill: var(--workspace); stroke: var(--workspace); }
.component-other { fill: var(--other); stroke: var(--other); }
.reserved { fill: none; stroke: var(--ink); stroke-width: 1.25; }
.capacity { stroke: var(--alarm); stroke-width: 2; stroke-dasharray: 9 5; }
.peak { fill: var(--paper); stroke: var(--ink); stroke-width: 2; } .cursor { stroke: var(--ink); }
.key { display: inline-block; width: .85em; height: .85em; margin-right: .45em; vertical-align: -.05em;
  border: 1px solid var(--faint); }
.key svg { display: block; width: 100%; height: 100%; }
.readout { min-height: 3.2em; padding: .5rem .75rem; background: var(--panel); border-left: 3px solid var(--line);
  overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; } th, td { padding: .2rem .75rem .2rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; } td.name { overflow-wrap: anywhere; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 0 2.5rem; }
.candidates { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: 1.5rem; }
.candidate { padding: 1rem; background: var(--panel); break-inside: avoid; }
.candidate .chart { background: none; }
footer { margin-top: 2rem; color: var(--faint); font-size: .85rem; }
:focus-visible { outline: 2px solid var(--ink); outline-offset: 2px; }
@media print { :root { --paper: #fff; --ink: #000; --faint: #444; --line: #bbb; --panel: #fff; --context: #b4b9c2;
  --alarm: #a3220f; --good: #1c6b35; --weights: #332288; --logits: #882255; --gradients: #117733; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } body { padding: 0; max-width: none; }
  .readout { display: none; } figure, table { break-inside: avoid; } }
)css";

const std::string_view plan_page_script = R"js(
(function () {
  "use strict";
  var units = ["B", "KiB", "MiB", "GiB", "TiB"];
  function human(bytes) {
    var unit = 0;
    while (bytes >= 1024 && unit + 1 < units.length) { bytes /= 1024; unit += 1; }
    return (unit === 0 ? String(bytes) : bytes.toFixed(unit >= 3 ? 2 : 1)) + " " + units[unit];
  }
  function follow(source) {
    var data = JSON.parse(source.textContent);
    var chart = document.getElementById(data.chart);
    var readout = document.getElementById(data.chart + "-readout");
    var cursor = chart.querySelector(".cursor");
    var values = document.querySelectorAll("[data-live-in='" + data.chart + "']");
    var at = -1;
    function show(index) {
      var point = data.points[index];
      var x = data.left + data.plot * point[0] / data.events;
      at = index;
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      cursor.setAttribute("visibility", "visible");
      readout.textContent = "Event " + (point[0] + 1) + " of " + data.events + ", " + point[1] + ": " +
        data.names[point[2]] + (point[3] ? " is allocated, " : " is given back or changes its part, ") + human(point[4]) +
        ". Live then: " + human(point[5]) + "; held by the allocator: " + human(point[6]) + ".";
      values.forEach(function (cell) { cell.textContent = human(point[7 + Number(cell.dataset.component)]); });
    }
    function nearest(event) {
      var box = chart.getBoundingClientRect();
      var x = (event.clientX - box.left) * data.width / box.width;
      var wanted = (x - data.left) / data.plot * data.events;
      var low = 0, high = data.points.length - 1;
      while (low < high) {
        var middle = Math.ceil((low + high) / 2);
        if (data.points[middle][0] <= wanted) { low = middle; } else { high = middle - 1; }
      }
      return low;
    }
    if (data.points.length === 0) { return; }
    chart.addEventListener("pointermove", function (event) { show(nearest(event)); });
    chart.addEventListener("pointerdown", function (event) { show(nearest(event)); });
    chart.addEventListener("keydown", function (event) {
      var moves = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: data.points.length - 1 };
      if (!(event.key in moves)) { return; }
      event.preventDefault();
      show(Math.min(Math.max(moves[event.key], 0), data.points.length - 1));
    });
  }
  document.querySelectorAll("script[type='application/json']").forEach(follow);
}());
)js";

}  // namespace headroom::report
