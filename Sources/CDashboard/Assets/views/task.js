// One task: progress, error with what to do, timeline, metrics, header fields, body.

import { get, raw, failure, query, hasToken, address } from "../api.js";
import { h, fill, pairs, table, button, copyable, link, toast } from "../dom.js";
import { perform, performAll } from "../commands.js";
import { live } from "../live.js";
import * as format from "../format.js";
import { status, pill, bar, amounts, reason, remedy } from "../tasktext.js";
import { waterfall } from "../waterfall.js";
import { decisionCard } from "../decisionform.js";
import { follow } from "./tasks.js";

const preview = 64 * 1024;

export function show(root, { id }) {
  const path = `v1/tasks/${encodeURIComponent(id)}`;
  let task, events = [], reload;
  const head = h("div");
  const decisions = h("div");
  const details = h("div");
  const timeline = h("section", { cls: "panel" });
  const metrics = h("section", { cls: "panel" });
  const body = h("section", { cls: "panel" });
  fill(root, head, decisions, h("div", { cls: "columns" }, h("div", null, details, body), h("div", null, timeline, metrics)));

  async function load() {
    task = await get(path);
    drawHead();
    drawDecisions();
    drawDetails();
    await Promise.all([loadEvents(), loadMetrics()]);
    drawBody();
  }

  async function loadEvents() {
    const page = await get(`${path}/events${query({ after: 0, limit: 500 })}`);
    events = page.items;
    drawTimeline();
  }

  async function loadMetrics() {
    if (task.state !== "completed") return fill(metrics, h("h2", null, "Metrics"), h("p", { cls: "dim" }, "Measured when the task ends."));
    try { fill(metrics, h("h2", null, "Metrics"), waterfall(await get(`${path}/metrics`))); } catch (error) {
      if (error.status !== 404 && error.status !== 409) throw error;
      fill(metrics, h("h2", null, "Metrics"), h("p", { cls: "dim" }, "The task was not measured."));
    }
  }

  function drawHead() {
    const word = status(task);
    const [done, total] = amounts(task.progress, task.kind);
    const url = task.currentRequest.url;
    const seconds = task.startedAt ? format.between(task.startedAt, task.completedAt) : null;
    const rate = task.rate || (task.completedAt && seconds > 0 && done > 0 ? done / seconds : 0);
    fill(head,
      h("p", { cls: "crumb" }, link("#/tasks", "Tasks"), " / ", h("code", { title: task.id }, format.short(task.id))),
      h("div", { cls: "title" }, h("h1", null, format.fileName(url)), pill(word), actions(word)),
      h("p", { cls: "url" }, task.currentRequest.method ?? "GET", " ", copyable(url)),
      bar(done, total, word, "Progress"),
      h("p", { cls: "figures", "aria-live": "off" },
        h("span", null, total > 0 && done !== total ? `${format.bytes(done)} of ${format.bytes(total)}` : format.bytes(done)),
        rate > 0 ? h("span", null, format.rate(rate)) : null,
        task.rate > 0 && total > done ? h("span", null, `${format.duration((total - done) / task.rate)} left`) : null,
        seconds != null ? h("span", null, `${task.completedAt ? "took" : "for"} ${format.duration(seconds)}`) : null,
        !task.error && reason(task) ? h("span", { cls: "wait" }, reason(task)) : null),
      task.error ? errorPanel(task.error) : null,
      task.state === "suspended" && !task.startedAt ? h("p", { cls: "notice" }, "The task is suspended. Resume starts it.") : null);
  }

  function actions(word) {
    const run = (verb) => async () => {
      const reply = await perform(verb, task.id);
      if (verb === "retry" && reply?.id && reply.id !== task.id) { location.hash = `#/tasks/${reply.id}`; return; }
      toast({ cancel: "The task is being cancelled", retry: "The next attempt starts", suspend: "The task is suspended", resume: "The task is resumed" }[verb]);
      await load();
    };
    const ended = task.state === "completed";
    return h("div", { cls: "actions" },
      ended ? (task.error ? button("Retry", run("retry"), "primary") : null)
        : [task.state === "suspended" ? button("Resume", run("resume"), "primary") : button("Suspend", run("suspend")),
          word === "retrying" ? button("Retry now", run("retry")) : null, button("Cancel", run("cancel"), "danger")],
      ended ? button("Delete", async () => { await performAll("delete", [task.id]); location.hash = "#/tasks"; }) : null);
  }

  function errorPanel(error) {
    return h("div", { cls: "notice bad", role: "alert" },
      h("p", null, h("strong", null, error.name), ` (${error.domain} ${error.code}): ${error.message}`),
      h("p", null, remedy(error)),
      pairs([["Failing URL", error.failingURL !== task.currentRequest.url ? error.failingURL : null], ["Status", error.status], ["Rule", error.rule],
        ["Cause", error.underlying ? `${error.underlying.library} ${error.underlying.code}` : null],
        ["Resume data", error.resumeDataAvailable ? "kept: a retry continues from the stored bytes" : null]]));
  }

  function drawDecisions() {
    const mine = [...live.decisions.values()].filter((decision) => decision.taskId === id);
    fill(decisions, mine.map((decision) => decisionCard(decision)));
  }

  function drawDetails() {
    const { originalRequest: original, currentRequest: current, response } = task;
    fill(details, h("section", { cls: "panel" }, h("h2", null, "Task"), pairs([
      ["Id", copyable(task.id)], ["Kind", task.kind], ["Session", link(`#/sessions/${task.sessionId}`, task.sessionId)],
      ["Group", task.group ? link(`#/groups/${encodeURIComponent(task.group)}`, task.group) : null],
      ["Labels", Object.entries(task.labels ?? {}).map(([key, value]) => `${key}: ${value}`).join(", ")],
      ["Description", task.description], ["Priority", task.priority === 0.5 ? null : task.priority],
      ["Created", format.time(task.createdAt)], ["Started", task.startedAt && format.time(task.startedAt)],
      ["Ended", task.completedAt && format.time(task.completedAt)], ["Begins", task.earliestBeginDate && format.time(task.earliestBeginDate)],
      ["Retries", task.retryCount || null], ["Retry of", task.retryOf ? link(`#/tasks/${task.retryOf}`, format.short(task.retryOf)) : null],
      ["Became", task.downloadTaskId ? link(`#/tasks/${task.downloadTaskId}`, format.short(task.downloadTaskId)) : null],
      ["Expected", task.expected ? [task.expected.size != null ? format.bytes(task.expected.size) : "", " ", task.expected.sha256 ? h("code", null, task.expected.sha256) : ""] : null],
      ["Destination", task.destination?.file ?? null], ["Webhook", task.completion?.webhook?.url ?? null],
      ["Messages", link(`#/deliveries?task=${task.id}`, "deliveries of this task")],
    ])), exchange("Request", `${current.method ?? "GET"} ${current.url}`, current.headers,
      original.url !== current.url ? [["Original URL", original.url]] : []),
    response ? exchange("Response", `${response.httpVersion} ${response.status}${response.fromCache ? " (from the cache)" : ""}`, response.headers, []) : null);
  }

  function exchange(title, line, headers, more) {
    const fields = Object.entries(headers ?? {});
    return h("section", { cls: "panel" }, h("h2", null, title), h("p", { cls: "url" }, h("code", null, line)), pairs(more),
      fields.length ? table(`Header fields of the ${title.toLowerCase()}`, ["Field", "Value"], fields.map(([name, value]) => [name, h("code", null, value)]), { cls: "headers" })
        : h("p", { cls: "dim" }, "No header fields."));
  }

  function drawTimeline() {
    const start = events[0]?.time;
    fill(timeline, h("h2", null, "Timeline"),
      events.length ? h("ol", { cls: "timeline" }, events.map((event) => h("li", { cls: event.type === "task.didComplete" ? (event.data.error ? "bad" : "good") : event.data?.decisionId ? "wait" : "" },
        h("time", { datetime: event.time, title: event.time }, `+${format.duration(format.between(start, event.time))}`),
        h("span", null, h("code", null, event.type), " ", h("span", { cls: "dim" }, summary(event))))))
        : h("p", { cls: "dim" }, "No events are stored. Events expire after --event-retention."));
  }

  function drawBody() {
    const size = task.body?.size;
    const content = h("div");
    const name = task.response?.suggestedFilename ?? format.fileName(task.currentRequest.url);
    fill(body, h("h2", null, "Body"), task.body ? [
      pairs([["Size", format.bytes(size)], ["SHA-256", task.body.sha256 ? copyable(task.body.sha256) : null],
        ["Kept until", task.body.expiresAt ? `${format.time(task.body.expiresAt)} (${format.ago(task.body.expiresAt)})` : null]]),
      h("div", { cls: "actions" },
        hasToken() ? button("Save", () => save(name, size)) : h("a", { cls: "button", href: address(`${path}/body`), download: name }, "Save"),
        button("Show", () => display(content), "")), content]
      : h("p", { cls: "dim" }, task.state === "completed" ? "There is no body." : "The page shows the body when the task has ended."));
  }

  async function save(name, size) {
    if (size > 512e6) throw new Error("The body is too large for this page. Use curl with your token, or ferry cat.");
    const reply = await raw(`${path}/body`);
    if (!reply.ok) throw await failure(reply);
    const href = URL.createObjectURL(await reply.blob());
    h("a", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  }

  async function display(content) {
    const reply = await raw(`${path}/body`, { headers: { Range: `bytes=0-${preview - 1}` } });
    if (!reply.ok) throw await failure(reply);
    const data = new Uint8Array(await reply.arrayBuffer());
    const text = new TextDecoder("utf-8").decode(data);
    const isText = !/[\u0000-\u0008\u000e-\u001f]/.test(text) && (text.match(/\ufffd/g)?.length ?? 0) < 2;
    fill(content, h("pre", { cls: "body", tabindex: "0", role: "region", "aria-label": "Beginning of the body" }, isText ? text : hex(data.subarray(0, 1024))),
      task.body.size > (isText ? preview : 1024) ? h("p", { cls: "dim" }, `The first ${format.bytes(isText ? preview : 1024)}.`) : null);
  }

  return {
    ready: load(), refresh: load,
    end() { clearTimeout(reload); },
    receive(event) {
      if (event.type === "decisions") return task && drawDecisions();
      if (event.taskId !== id || !task) return;
      if (follow(task, event)) drawHead();
      if (event.id != null && !events.some((known) => known.id === event.id)) { events.push(event); drawTimeline(); }
      if (["task.didComplete", "dataTask.didReceiveResponse", "downloadTask.didFinishDownloading"].includes(event.type)) {
        clearTimeout(reload);
        reload = setTimeout(() => load().catch((error) => toast(error.message, "bad")), 150);
      }
    },
    keys: {
      r: () => perform("retry", id).then((reply) => { if (reply?.id) location.hash = `#/tasks/${reply.id}`; }).catch((error) => toast(error.message, "bad")),
      x: () => perform("cancel", id).then(load).catch((error) => toast(error.message, "bad")),
      s: () => perform(task?.state === "suspended" ? "resume" : "suspend", id).then(load).catch((error) => toast(error.message, "bad")),
    },
  };
}

function hex(data) {
  const lines = [];
  for (let start = 0; start < data.length; start += 16) {
    const part = [...data.subarray(start, start + 16)];
    lines.push(`${start.toString(16).padStart(6, "0")}  ${part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ").padEnd(48)} ${
      part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("")}`);
  }
  return lines.join("\n");
}

/** A few words about an event. */
function summary({ type, data }) {
  switch (type) {
    case "task.didChangeState": return [data.state, data.phase].filter(Boolean).join(", ") + (data.lastError ? `: ${data.lastError.message}` : "");
    case "dataTask.didReceiveResponse": case "task.willPerformHTTPRedirection":
      return `${data.response.status}${data.request ? ` to ${data.request.url}` : ""}`;
    case "task.didReceiveChallenge": case "session.didReceiveChallenge":
      return `${data.protectionSpace.authenticationMethod.replace("NSURLAuthenticationMethod", "")} of ${data.protectionSpace.host}`;
    case "downloadTask.didResumeAtOffset": return `from ${format.bytes(data.fileOffset)}`;
    case "downloadTask.didFinishDownloading": return format.bytes(data.body?.size);
    case "task.didComplete": return data.error ? data.error.message : data.status ? `status ${data.status}` : "";
    case "decision.answerWasRejected": return data.reason;
    default: return "";
  }
}
