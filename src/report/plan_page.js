// SPDX-License-Identifier: Apache-2.0
// Says what is live where the pointer is, or where the arrow keys have moved to.

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
