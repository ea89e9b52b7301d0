// Counts, rates, plots, and what fails.

import { get, query } from "../api.js";
import { h, fill, link } from "../dom.js";
import { live, readUsage } from "../live.js";
import { Plot } from "../plot.js";
import * as format from "../format.js";
import { bar, amounts, status, pill, remedy } from "../tasktext.js";
import { follow } from "./tasks.js";

export function show(root) {
  const counts = h("div", { cls: "counts" });
  const plots = h("div", { cls: "plots" });
  const running = h("section", { cls: "panel" });
  const failing = h("section", { cls: "panel" });
  let tasks = [], dirty = false, timer;
  const made = [
    new Plot(plots, "Throughput", [["received", "down", (s) => s[1]], ["sent", "up", (s) => s[2]]], format.rate),
    new Plot(plots, "Queue", [["running", "running", (s) => s[3]], ["suspended", "suspended", (s) => s[4]]], format.count),
    new Plot(plots, "Disk", [["free", () => `of ${format.bytes(live.usage?.disk?.totalBytes)} free:`, (s) => s[5]]], format.bytes),
  ];
  fill(root, h("div", { cls: "title" }, h("h1", null, "Overview"), h("a", { cls: "button primary", href: "#/add" }, "Add")), counts, plots,
    h("div", { cls: "columns" }, running, failing));

  function drawCounts() {
    const tasks = live.usage?.tasks ?? {};
    const last = live.samples[live.samples.length - 1];
    const all = [
      ["Running", tasks.running, "#/tasks?status=state:running", "busy"], ["Suspended", tasks.suspended, "#/tasks?status=state:suspended", ""],
      ["Succeeded", tasks.succeeded, "#/tasks?status=outcome:succeeded", "good"], ["Failed", tasks.failed, "#/tasks?status=outcome:failed", tasks.failed ? "bad" : ""],
      ["Cancelled", tasks.cancelled, "#/tasks?status=outcome:cancelled", ""], ["Decisions", live.decisions.size, "#/decisions", live.decisions.size ? "wait" : ""],
    ];
    fill(counts, all.map(([name, number, href, cls]) => h("a", { href, cls: `count ${cls}` }, h("b", null, number == null ? "–" : format.count(number)), h("span", null, name))),
      h("div", { cls: "count" }, h("b", null, format.rate(last?.[1] ?? 0)), h("span", null, "Received")),
      h("div", { cls: "count" }, h("b", null, format.rate(last?.[2] ?? 0)), h("span", null, "Sent")));
  }

  async function load() {
    const [active, failed] = await Promise.all([
      get("v1/tasks" + query({ state: "running", limit: 12, order: "newest" })),
      get("v1/tasks" + query({ outcome: "failed", limit: 100, order: "newest" })), readUsage()]);
    tasks = active.items;
    drawCounts();
    drawRunning();
    drawFailing(failed.items);
  }

  function drawRunning() {
    fill(running, h("h2", null, "Running"), tasks.length ? h("ul", { cls: "list" }, tasks.map((task) => {
      const word = status(task);
      const url = task.originalRequest.url;
      const [done, total] = amounts(task.progress, task.kind);
      return h("li", null, h("div", { cls: "line" }, link(`#/tasks/${task.id}`, format.fileName(url)), pill(word), h("span", { cls: "num dim" }, task.rate ? format.rate(task.rate) : format.bytes(done))),
        bar(done, total, word, `Progress of ${format.fileName(url)}`));
    })) : h("p", { cls: "dim" }, "No task is running. ", link("#/add", "Add downloads"), "."));
  }

  function drawFailing(failed) {
    const causes = new Map();
    for (const task of failed) {
      const { error } = task;
      const key = `${error.name} ${error.status ?? ""} ${format.host(error.failingURL ?? task.originalRequest.url)}`;
      const cause = causes.get(key) ?? { error, tasks: [], host: format.host(error.failingURL ?? task.originalRequest.url) };
      cause.tasks.push(task);
      causes.set(key, cause);
    }
    const list = [...causes.values()].sort((a, b) => b.tasks.length - a.tasks.length).slice(0, 8);
    fill(failing, h("h2", null, "Failures"), list.length ? h("ul", { cls: "list" }, list.map(({ error, tasks, host }) => h("li", null,
      h("div", { cls: "line" }, h("strong", null, error.name + (error.status ? ` ${error.status}` : "")), h("span", { cls: "dim" }, host), h("span", { cls: "num" }, `${tasks.length} ×`)),
      h("p", { cls: "small" }, error.message), h("p", { cls: "small dim" }, remedy(error)),
      h("p", { cls: "small" }, tasks.slice(0, 3).map((task, index) => [index ? " · " : "", link(`#/tasks/${task.id}`, format.fileName(task.originalRequest.url))]), tasks.length > 3 ? " …" : ""))),
    ) : h("p", { cls: "dim" }, "No task has failed."), failed.length === 100 ? h("p", { cls: "small dim" }, "Among the newest 100 failures.") : null);
  }

  drawCounts();
  return {
    ready: load(), refresh: load,
    end() { clearTimeout(timer); for (const plot of made) plot.end(); },
    receive(event) {
      if (event.type === "sample") {
        drawCounts();
        for (const plot of made) plot.draw(live.samples);
        if (dirty) { dirty = false; drawRunning(); }
        return;
      }
      if (event.type === "task.didComplete" || event.type === "task.didChangeState") { timer ??= setTimeout(() => { timer = undefined; load().catch(() => {}); }, 2000); }
      const task = tasks.find((item) => item.id === event.taskId);
      if (task && follow(task, event)) dirty = true;
    },
  };
}
