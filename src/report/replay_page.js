// SPDX-License-Identifier: Apache-2.0
// Says what is held where the pointer is, on the page of a replay.

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
    if (data.points.length === 0) { return; }
    function show(event) {
      var box = chart.getBoundingClientRect();
      var x = (event.clientX - box.left) * data.width / box.width;
      var wanted = (x - data.left) / data.plot * data.events;
      var low = 0, high = data.points.length - 1;
      while (low < high) {
        var middle = Math.ceil((low + high) / 2);
        if (data.points[middle][0] <= wanted) { low = middle; } else { high = middle - 1; }
      }
      var point = data.points[low];
      var at = data.left + data.plot * point[0] / data.events;
      cursor.setAttribute("x1", at);
      cursor.setAttribute("x2", at);
      cursor.setAttribute("visibility", "visible");
      readout.textContent = "After event " + (point[0] + 1) + " of " + data.events + ": " + human(point[1]) +
        " live, " + human(point[2]) + " reserved.";
    }
    chart.addEventListener("pointermove", show);
    chart.addEventListener("pointerdown", show);
  }
  document.querySelectorAll("script[type='application/json']").forEach(follow);
}());
