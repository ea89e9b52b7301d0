// The list of tasks: search, filters, progress, commands for many.

import { get, query } from "../api.js";
import { h, fill, field, select, button, empty, link } from "../dom.js";
import { VirtualList } from "../virtuallist.js";
import { performAll, performMatching } from "../commands.js";
import { live } from "../live.js";
import * as format from "../format.js";
import { status, outcome, pill, bar, amounts, reason } from "../tasktext.js";

const statuses = [
  ["", "All states"], ["state:running", "Running"], ["state:suspended", "Suspended"], ["outcome:failed", "Failed"],
  ["outcome:succeeded", "Succeeded"], ["outcome:cancelled", "Cancelled"],
];
const ages = [["", "Any age"], ["3600", "Last hour"], ["86400", "Last day"], ["604800", "Last week"]];

/** The filter of the API for what the form says. */
export function filterOf({ search, status: word, kind, group, label, since, session }) {
  const filter = {};
  const text = (search ?? "").trim();
  if (/^tsk_|^[0-9a-f-]{8,}$/i.test(text)) filter.id = text;
  else if (/^https?:\/\/[^*?]*$/.test(text)) filter.urlPrefix = text;
  else if (text) filter.url = text.includes("*") ? text : `*${text}*`;
  if (word) filter[word.split(":")[0]] = word.split(":")[1];
  if (kind) filter.kind = kind;
  if (group) filter.group = group;
  if (label) filter.label = label;
  if (since) filter.since = new Date(Date.now() - Number(since) * 1000).toISOString();
  if (session) filter.session = session;
  return filter;
}

/** The members of a task that the list needs: with 100,000 tasks, whole tasks would need too much memory. */
function slim(task) {
  return {
    id: task.id, kind: task.kind, state: task.state, phase: task.phase, outcome: task.outcome, url: task.originalRequest.url,
    progress: task.progress, error: task.error && { message: task.error.message, name: task.error.name },
    lastError: task.lastError && { message: task.lastError.message }, retryCount: task.retryCount, nextAttemptAt: task.nextAttemptAt,
    earliestBeginDate: task.earliestBeginDate, createdAt: task.createdAt, startedAt: task.startedAt, completedAt: task.completedAt, rate: 0,
  };
}

export function show(root, { query: initial }) {
  let items = [], byID = new Map(), cursor, loading = null, ended = false, turn = 0, looked = 0, fresh = 0;
  const search = h("input", { type: "search", name: "search", value: initial.search ?? "", placeholder: "URL or part of it, glob, or id", spellcheck: "false", autocomplete: "off" });
  const word = select("status", statuses, initial.status);
  const kind = select("kind", [["", "All kinds"], ["download"], ["data"], ["upload"]], initial.kind);
  const since = select("since", ages, initial.since);
  const group = h("input", { name: "group", value: initial.group ?? "", placeholder: "any", spellcheck: "false", autocomplete: "off" });
  const label = h("input", { name: "label", value: initial.label ?? "", placeholder: "key:value", spellcheck: "false", autocomplete: "off" });
  const form = h("form", { cls: "filters", role: "search" }, field("Search", search), field("State", word), field("Kind", kind),
    field("Age", since), field("Group", group), field("Label", label));
  const summary = h("p", { cls: "summary", role: "status" });
  const commands = h("div", { cls: "commands" });
  const place = h("div", { cls: "listing" });
  const list = new VirtualList({
    label: "Tasks", rowHeight: 40, key: (task) => task.id, cells, needMore: () => { if (!ended) more(); },
    heads: ["Mark", "Name", "State", "Progress", "Size", "Rate", "Created"], onMarks: showCommands,
  });
  const values = () => ({
    search: search.value, status: word.value, kind: kind.value, since: since.value, group: group.value.trim(), label: label.value.trim(),
    session: initial.session,
  });

  function cells(task, isMarked) {
    const name = status(task);
    const [done, total] = amounts(task.progress, task.kind);
    const why = reason(task);
    const box = h("input", { type: "checkbox", tabindex: "-1", "aria-label": `Mark ${format.fileName(task.url)}` });
    box.checked = isMarked;
    const left = task.rate > 0 && total > 0 ? ` · ${format.duration((total - done) / task.rate)}` : "";
    return [
      h("span", { role: "gridcell", cls: "c-mark" }, box),
      h("span", { role: "gridcell", cls: "c-name" }, h("a", { href: `#/tasks/${task.id}`, tabindex: "-1", title: task.url }, format.fileName(task.url)),
        h("span", { cls: "dim" }, why || format.host(task.url))),
      h("span", { role: "gridcell", cls: "c-state" }, pill(name)),
      h("span", { role: "gridcell", cls: "c-progress" }, bar(done, total, name, `Progress of ${format.fileName(task.url)}`)),
      h("span", { role: "gridcell", cls: "c-size num" }, total > 0 && done < total && name !== "succeeded" ? `${format.bytes(done)} / ${format.bytes(total)}` : format.bytes(done)),
      h("span", { role: "gridcell", cls: "c-rate num" }, task.rate > 0 ? format.rate(task.rate) + left : ""),
      h("span", { role: "gridcell", cls: "c-created num", title: task.createdAt }, format.ago(task.createdAt)),
    ];
  }

  async function more() {
    if (loading) return loading;
    const mine = turn;
    loading = (async () => {
      const { session, ...filter } = filterOf(values());
      const path = session ? `v1/sessions/${encodeURIComponent(session)}/tasks` : "v1/tasks";
      const page = await get(path + query({ ...filter, limit: 500, order: "newest", cursor }));
      if (mine !== turn) return;
      for (const task of page.items) {
        if (byID.has(task.id)) continue;
        const item = slim(task);
        byID.set(item.id, item);
        items.push(item);
      }
      cursor = page.nextCursor;
      ended = !cursor;
      looked += filter.url || filter.urlPrefix ? 5000 : page.items.length;
      showSummary();
      if (!items.length && !ended) fill(place, h("p", { cls: "loading" }, `Searched ${format.count(looked)} tasks …`));
      if (items.length) { if (!list.element.isConnected) fill(place, list.element); list.grown(items.length); } else if (ended) showEmpty();
    })();
    try { await loading; } catch (error) {
      if (mine === turn) { ended = true; fill(summary, h("span", { cls: "bad" }, error.message)); }
      if (error.status === 401) throw error;
    } finally { if (mine === turn) loading = null; }
    // A search of texts looks at some thousand tasks for each page, so a page may have few.
    if (mine === turn && !ended && items.length < 60) return more();
  }

  function restart() {
    turn += 1;
    loading = null;
    items = [];
    byID = new Map();
    cursor = undefined;
    ended = false;
    looked = fresh = 0;
    list.setItems(items, 0);
    fill(place, h("p", { cls: "loading" }, "Loading …"));
    showCommands();
    const text = query(Object.fromEntries(Object.entries(values()).filter(([, value]) => value)));
    history.replaceState(null, "", `#/tasks${text}`);
    return more();
  }

  function showEmpty() {
    const isFiltered = Object.keys(filterOf(values())).length > 0;
    fill(place, isFiltered
      ? empty("No task matches", "Change or ", button("clear the filters", () => { form.reset(); for (const input of form.elements) if ("value" in input) input.value = ""; initial.session = undefined; restart(); }, "link"), ".")
      : empty("No tasks yet", link("#/add", "Add downloads"), " here, or run ", h("code", null, "ferry get URL"), " in a terminal."));
  }

  function showSummary() {
    const filter = filterOf(values());
    const all = live.usage && !Object.keys(filter).length
      ? Object.values(live.usage.tasks).reduce((sum, number) => sum + number, 0) : null;
    fill(summary, `${format.count(items.length)}${all != null && !ended ? ` of ${format.count(all)}` : ""} ${items.length === 1 && ended ? "task" : "tasks"}`,
      ended || all != null ? "" : filter.url || filter.urlPrefix ? `, ${format.count(looked)} searched` : ", more below", fresh ? [" · ", button(`${format.count(fresh)} new: show`, restart, "link")] : "");
  }

  function showCommands() {
    const number = list.marked.size;
    const act = (verb) => async () => {
      const { label: pair, ...filter } = filterOf(values());
      if (number) await performAll(verb, [...list.marked]);
      else {
        if (pair) filter.labels = { [pair.split(":")[0]]: pair.slice(pair.indexOf(":") + 1) };
        await performMatching(verb, filter);
      }
      await restart();
    };
    // The service cannot select tasks by their session.
    if (!number && values().session) return fill(commands, h("span", { cls: "scope", role: "status" }, "Mark tasks to give them commands"));
    fill(commands, h("span", { cls: "scope", role: "status" }, number ? `${format.count(number)} marked` : "All that match"),
      button("Retry", act("retry")), button("Suspend", act("suspend")), button("Resume", act("resume")), button("Cancel", act("cancel"), "danger"),
      button("Delete", act("delete")), number ? button("Unmark", () => { list.setItems(items, items.length); showCommands(); }, "link") : null);
  }

  const targets = () => (list.marked.size ? [...list.marked] : list.activeItem ? [list.activeItem.id] : []);
  const command = (verb) => async () => { await performAll(verb, targets()); };

  let timer;
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(restart, 250); });
  form.addEventListener("submit", (event) => { event.preventDefault(); restart(); });

  fill(root, h("div", { cls: "title" }, h("h1", null, "Tasks"), summary, h("a", { cls: "button primary", href: "#/add" }, "Add")), initial.session ? h("p", { cls: "hint" }, "Tasks of session ", link(`#/sessions/${initial.session}`, initial.session)) : null, form, commands, place);
  const ready = restart();

  return {
    ready, refresh: restart,
    end() { turn += 1; clearTimeout(timer); list.end(); },
    receive(event) {
      if (event.type === "usage") return showSummary();
      if (event.type === "task.didCreate" && !byID.has(event.taskId)) {
        fresh += 1;
        return showSummary();
      }
      const task = byID.get(event.taskId);
      if (!task) return;
      if (follow(task, event)) list.changed(task.id);
    },
    keys: {
      j: () => list.move(1), k: () => list.move(-1), ArrowDown: () => list.move(1), ArrowUp: () => list.move(-1),
      Home: () => list.move(-Infinity), End: () => list.move(Infinity), PageDown: () => list.move(15), PageUp: () => list.move(-15),
      Enter: () => { if (list.activeItem) location.hash = `#/tasks/${list.activeItem.id}`; },
      " ": () => { if (list.activeItem) list.mark(list.activeItem.id); },
      a: () => list.markAll(), r: command("retry"), x: command("cancel"), "/": () => search.focus(),
      s: async () => { await performAll(list.activeItem?.state === "suspended" ? "resume" : "suspend", targets()); },
    },
  };
}

/** Applies an event to a task. Returns whether the event changed it. */
export function follow(task, { type, data, time }) {
  switch (type) {
    case "task.didChangeState":
      task.state = data.state;
      task.phase = data.phase;
      task.lastError = data.lastError;
      task.nextAttemptAt = data.nextAttemptAt;
      if (data.state !== "running" || data.phase !== "transferring") task.rate = 0;
      if (data.state === "running" && !task.startedAt) task.startedAt = time;
      return true;
    case "downloadTask.didWriteData": return advance(task, "Received", data.totalBytesWritten, data.totalBytesExpectedToWrite, time);
    case "dataTask.didReceiveData": return advance(task, "Received", data.countOfBytesReceived, data.countOfBytesExpectedToReceive, time);
    case "task.didSendBodyData": return advance(task, "Sent", data.totalBytesSent, data.totalBytesExpectedToSend, time);
    case "task.didComplete":
      task.state = "completed";
      task.phase = null;
      task.rate = 0;
      task.completedAt = time;
      task.error = data.error;
      task.outcome = outcome(data.error);
      if (data.body) task.progress = { ...task.progress, countOfBytesReceived: Math.max(data.body.size, task.progress.countOfBytesReceived) };
      return true;
    default: return false;
  }
}

function advance(task, direction, done, total, time) {
  const member = `countOfBytes${direction}`;
  const now = Date.parse(time);
  if (task.seen?.member === member && now > task.seen.now) {
    const current = ((done - task.seen.done) / (now - task.seen.now)) * 1000;
    task.rate = task.rate ? task.rate * 0.7 + current * 0.3 : current;
  }
  task.seen = { member, done, now };
  task.progress = { ...task.progress, [member]: done, [`countOfBytesExpectedTo${direction === "Received" ? "Receive" : "Send"}`]: total };
  return true;
}
