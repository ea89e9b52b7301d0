// The form that adds tasks: many URLs at once.

import { all, call } from "../api.js";
import { h, fill, field, select, table, link, toast } from "../dom.js";
import { parseLines, parseHeaders, parseLabels } from "../addlines.js";
import * as format from "../format.js";

const linesAtOnce = 500;

export function show(root) {
  const urls = h("textarea", { name: "urls", rows: 8, required: true, spellcheck: "false", autocomplete: "off", placeholder: "https://example.org/a.iso\nhttps://example.org/b.iso  sha256:9f86d0…" });
  const kind = select("kind", [["download", "Download (to a file)"], ["data", "Data (small responses)"]], "download");
  const session = select("session", [["ses_shared", "Shared session"]], "ses_shared");
  const headers = h("textarea", { name: "headers", rows: 3, spellcheck: "false", autocomplete: "off", placeholder: "Authorization: Bearer …" });
  const group = h("input", { name: "group", maxlength: 128, autocomplete: "off", spellcheck: "false" });
  const labels = h("input", { name: "labels", placeholder: "customer:17, team:web", autocomplete: "off", spellcheck: "false" });
  const description = h("input", { name: "description", autocomplete: "off" });
  const start = select("start", [["now", "Now"], ["later", "At a time"], ["never", "When I resume them"]], "now");
  const date = h("input", { name: "date", type: "datetime-local" });
  const webhook = h("input", { name: "webhook", type: "url", placeholder: "https://…", autocomplete: "off", spellcheck: "false" });
  const secret = h("input", { name: "secret", type: "password", placeholder: "whsec_…", autocomplete: "off" });
  const fails = h("input", { name: "failOnStatus", type: "checkbox", checked: true });
  const retry = h("input", { name: "retry", type: "number", min: 1, max: 1000000, value: 5 });
  const limit = h("input", { name: "limit", type: "number", min: 1, placeholder: "none" });
  const dateField = field("Start at", date, "Your time zone");
  const check = h("div", { cls: "check", role: "status", id: "line-check" });
  const submit = h("button", { cls: "primary" }, "Add");
  const results = h("div");
  urls.setAttribute("aria-describedby", "line-check");
  const form = h("form", null,
    field("URLs, one a line", urls, "A SHA-256 digest may follow a URL. Lines that begin with # are ignored. The output of sha256sum works too."), check,
    h("div", { cls: "fields" }, field("Kind", kind), field("Session", session), field("Start", start), dateField),
    h("details", null, h("summary", null, "Header fields, group, labels"), field("Header fields, one a line", headers, "They go to the origin of each URL. Secret ones are stored encrypted."),
      h("div", { cls: "fields" }, field("Group", group), field("Labels", labels), field("Description", description))),
    h("details", null, h("summary", null, "Webhook, retries, limits"), h("div", { cls: "fields" }, field("Webhook for the end of each task", webhook), field("Secret of the webhook", secret, "If it is empty, the service's secret is used.")),
      h("div", { cls: "fields" }, field("Maximum attempts", retry), field("Maximum bytes per second", limit)), field("A status of 400 or more is a failure", fails)),
    h("div", { cls: "actions" }, submit));
  fill(root, h("h1", null, "Add"), h("div", { cls: "panel" }, form), results);

  function examine() {
    const lines = parseLines(urls.value);
    const wrong = [...lines.filter((line) => line.problem), ...parseHeaders(headers.value).problems.map((item) => ({ ...item, where: "Header fields" })),
      ...parseLabels(labels.value).problems.map((item) => ({ ...item, where: "Labels" }))];
    if (start.value === "later" && (!date.value || Date.parse(date.value) < Date.now())) wrong.push({ where: "Start at", text: date.value || "(empty)", problem: "must be a time in the future" });
    const good = lines.filter((line) => !line.problem);
    dateField.hidden = start.value !== "later";
    submit.textContent = good.length ? `Add ${format.count(good.length)} ${good.length === 1 ? "task" : "tasks"}` : "Add";
    submit.disabled = !good.length || wrong.length > 0;
    fill(check, wrong.length ? [h("p", { cls: "bad" }, `Correct ${wrong.length} ${wrong.length === 1 ? "entry" : "entries"} to continue.`),
      h("ul", null, wrong.slice(0, 20).map((line) => h("li", null, h("b", null, line.where ? line.where : `Line ${line.number}`), " ", h("code", null, line.text.slice(0, 120)), " ", line.problem)),
        wrong.length > 20 ? h("li", null, `and ${wrong.length - 20} more`) : null)]
      : good.length ? h("p", { cls: "good" }, `${format.count(good.length)} ${good.length === 1 ? "URL" : "URLs"}${good.some((line) => line.sha256) ? `, ${format.count(good.filter((line) => line.sha256).length)} with a digest` : ""}`) : null);
    return { good, wrong };
  }

  const creation = (line, options) => {
    const task = { kind: kind.value, request: { url: line.url }, resume: start.value !== "never", failOnStatus: fails.checked };
    if (Object.keys(options.fields).length) task.request.headers = options.fields;
    if (line.sha256) task.expected = { sha256: line.sha256 };
    if (group.value) task.group = group.value;
    if (Object.keys(options.labels).length) task.labels = options.labels;
    if (description.value) task.description = description.value;
    if (start.value === "later") task.earliestBeginDate = new Date(date.value).toISOString();
    if (webhook.value) task.completion = { webhook: { url: webhook.value, ...(secret.value ? { secret: secret.value } : {}) } };
    if (Number(retry.value) > 1) task.retry = { maximumAttempts: Number(retry.value) };
    if (limit.value) task.maximumBytesPerSecond = Number(limit.value);
    return task;
  };

  form.addEventListener("input", examine);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { good, wrong } = examine();
    if (wrong.length || !good.length) return;
    submit.disabled = true;
    const options = { fields: parseHeaders(headers.value).fields, labels: parseLabels(labels.value).labels };
    const done = [];
    // A repeat after a lost reply creates no task twice.
    const key = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
    try {
      for (let first = 0; first < good.length; first += linesAtOnce) {
        const part = good.slice(first, first + linesAtOnce);
        const text = await call("POST", `v1/sessions/${session.value}/tasks`, part.map((line) => JSON.stringify(creation(line, options))).join("\n") + "\n",
          { type: "application/x-ndjson", text: true, headers: { Accept: "application/x-ndjson", "Idempotency-Key": `${key}-${first}` } });
        text.trim().split("\n").forEach((row, index) => done.push([part[index], JSON.parse(row)]));
        submit.textContent = `${format.count(done.length)} of ${format.count(good.length)}`;
      }
    } catch (error) {
      toast(error.message, "bad");
    }
    report(done, good.length);
  });

  function report(done, asked) {
    const failed = done.filter(([, reply]) => !reply.id);
    const added = done.length - failed.length;
    const bad = new Set(failed.map(([line]) => line.number));
    // The wrong lines stay in the form, to be corrected.
    if (done.length) urls.value = failed.map(([line]) => line.text).join("\n");
    fill(results, h("section", { cls: "panel" }, h("h2", { tabindex: "-1" }, `${format.count(added)} of ${format.count(asked)} tasks added`),
      bad.size ? [h("p", { cls: "bad" }, "The service refused these lines. They are still in the form."),
        table("Refused lines", ["Line", "URL", "Reason"], failed.slice(0, 100).map(([line, problem]) => [line.number, h("code", null, line.url),
          [problem.detail ?? problem.title, ...(problem.errors ?? []).map((error) => ` ${error.pointer}: ${error.detail}`)]]))] : null,
      added === 1 ? h("p", null, link(`#/tasks/${done.find(([, reply]) => reply.id)[1].id}`, "Show the task"))
        : added ? h("p", null, link(group.value ? `#/tasks?group=${encodeURIComponent(group.value)}` : "#/tasks", "Show the tasks")) : null));
    results.querySelector("h2").focus();
    examine();
  }

  async function load() {
    const sessions = await all("v1/sessions", { state: "active", order: "newest" }, 500);
    for (const item of sessions) {
      if (item.id === "ses_shared") continue;
      session.append(h("option", { value: item.id }, `${item.description || item.identifier || format.short(item.id)} (${item.type})`));
    }
  }

  examine();
  return { ready: load(), keys: { "/": () => urls.focus() } };
}
