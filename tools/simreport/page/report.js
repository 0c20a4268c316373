"use strict";
// The page is whole without this: it adds a cursor that reads values off charts.
for (const figure of document.querySelectorAll("figure[data-chart]")) {
  const chart = JSON.parse(figure.dataset.chart);
  const svg = figure.querySelector("svg");
  const cursor = svg.querySelector(".cursor");
  const outputs = figure.querySelectorAll(".legend span output");
  const when = figure.querySelector(".when");
  const left = 52, right = 550, last = chart.lines[0].values.length - 1;
  let at = -1;

  const text = (v) => {
    if (chart.unit === "s") return v < 1 ? Math.round(v * 1000) + " ms" : v.toFixed(2) + " s";
    return (v >= 100 ? v.toFixed(0) : Number(v.toPrecision(3)).toString()) + (chart.unit === "1/s" ? "/s" : "");
  };
  const clock = (s) => {
    const h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
    return (h ? h + "h" : "") + (h || m ? m + "m" : "") + Math.floor(s % 60) + "s";
  };
  const show = (i) => {
    at = Math.max(0, Math.min(last, i));
    const x = left + (right - left) * (at + 0.5) / (last + 1);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    cursor.removeAttribute("hidden");
    outputs.forEach((o, n) => { o.textContent = text(chart.lines[n].values[at]); });
    when.textContent = "at " + clock((at + 0.5) * chart.step);
  };
  const hide = () => {
    cursor.setAttribute("hidden", "");
    outputs.forEach((o) => { o.textContent = ""; });
    when.textContent = "";
    at = -1;
  };

  svg.addEventListener("pointermove", (e) => {
    const box = svg.getBoundingClientRect();
    const x = (e.clientX - box.left) / box.width * 560;
    show(Math.floor((x - left) / (right - left) * (last + 1)));
  });
  svg.addEventListener("pointerleave", () => { if (document.activeElement !== figure) hide(); });
  figure.addEventListener("blur", hide);
  figure.addEventListener("keydown", (e) => {
    const move = { ArrowRight: 1, ArrowLeft: -1, PageDown: 20, PageUp: -20, Home: -last, End: last }[e.key];
    if (move === undefined) return;
    e.preventDefault();
    show(at < 0 ? (move > 0 ? 0 : last) : at + move);
  });
}
