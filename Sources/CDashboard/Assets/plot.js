// A plot of the last ten minutes, drawn by uPlot, which is loaded when the first plot appears.

import { h, fill } from "./dom.js";

let library;
function load() {
  library ??= import("./vendor/uplot.js").then((module) => {
    document.head.append(h("link", { rel: "stylesheet", href: new URL("./vendor/uplot.css", import.meta.url).href }));
    return module.default;
  });
  return library;
}

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export class Plot {
  /** `series`: name, word, function of a sample. */
  constructor(parent, title, series, text) {
    this.series = series;
    this.text = text;
    this.canvas = h("div", { cls: "canvas", "aria-hidden": "true" });
    this.values = h("span", { cls: "values" });
    parent.append(h("figure", { cls: "panel plot" }, h("figcaption", null, h("h2", null, title), this.values), this.canvas));
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.rebuild = () => { this.plot?.destroy(); this.plot = null; };
    this.scheme.addEventListener("change", this.rebuild);
    this.observer = new ResizeObserver(() => this.plot?.setSize(this.size()));
    this.observer.observe(this.canvas);
  }

  size() { return { width: Math.max(160, this.canvas.clientWidth), height: 130 }; }

  end() {
    this.ended = true;
    this.plot?.destroy();
    this.observer.disconnect();
    this.scheme.removeEventListener("change", this.rebuild);
  }

  async draw(samples) {
    const last = samples[samples.length - 1];
    if (!last) return;
    fill(this.values, this.series.map(([, word, value], index) => h("span", null, h("i", { cls: `key k${index}`, "aria-hidden": "true" }), `${typeof word === "function" ? word() : word} ${value(last) == null ? "–" : this.text(value(last))}`)));
    let UPlot;
    try { UPlot = await load(); } catch { return; }
    // One sample has no line, and uPlot would label its axis with 1970.
    if (this.ended || samples.length < 2) return;
    const data = [samples.map((sample) => sample[0]), ...this.series.map(([, , value]) => samples.map(value))];
    if (this.plot) return this.plot.setData(data);
    const axis = { stroke: color("dim"), grid: { stroke: color("line"), width: 1 }, ticks: { show: false }, font: "11px system-ui", space: 40 };
    this.plot = new UPlot({
      ...this.size(), legend: { show: false }, cursor: { show: false }, padding: [8, 26, 0, 0],
      scales: { x: { time: true, range: (_, low, high) => [Math.min(low, high - 60), high] }, y: { range: (_, low, high) => [0, Math.max(high * 1.1, 1)] } },
      axes: [{ ...axis, size: 24, values: [[60, "{HH}:{mm}", null, null, null, null, null, null, 1], [1, "{HH}:{mm}:{ss}", null, null, null, null, null, null, 1]], space: 70 },
        { ...axis, size: 64, values: (_, ticks) => ticks.map((tick) => this.text(tick)), space: 32 }],
      series: [{}, ...this.series.map((_, index) => ({ stroke: color(index ? "plot-b" : "plot-a"), width: 1.5, fill: index ? undefined : color("plot-fill"), points: { show: false } }))],
    }, data, this.canvas);
  }
}
