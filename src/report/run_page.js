// SPDX-License-Identifier: Apache-2.0
// Says what the values are where the pointer is, or where the arrow keys have moved to.

(function () {
  "use strict";
  function follow(source) {
    var data = JSON.parse(source.textContent);
    var chart = document.getElementById(data.chart);
    var readout = document.getElementById(data.chart + "-readout");
    var cursor = chart.querySelector(".cursor");
    var last = data.points.length - 1;
    var at = -1;
    function show(index) {
      at = Math.min(Math.max(index, 0), last);
      var point = data.points[at];
      cursor.setAttribute("x1", point[0]);
      cursor.setAttribute("x2", point[0]);
      cursor.setAttribute("visibility", "visible");
      readout.textContent = point[1].charAt(0).toUpperCase() + point[1].slice(1) + ".";
    }
    function nearest(event) {
      var box = chart.getBoundingClientRect();
      var x = (event.clientX - box.left) * data.width / box.width;
      var low = 0, high = last;
      while (low < high) {
        var middle = Math.floor((low + high) / 2);
        if (data.points[middle + 1][0] - x <= x - data.points[middle][0]) { low = middle + 1; } else { high = middle; }
      }
      return low;
    }
    if (last < 0) { return; }
    chart.addEventListener("pointermove", function (event) { show(nearest(event)); });
    chart.addEventListener("pointerdown", function (event) { show(nearest(event)); });
    chart.addEventListener("keydown", function (event) {
      var moves = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last };
      if (!(event.key in moves)) { return; }
      event.preventDefault();
      show(moves[event.key]);
    });
  }
  document.querySelectorAll("script[type='application/json']").forEach(follow);
}());
