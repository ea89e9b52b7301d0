// Groups of tasks, and one group.

import { get, post, all } from "../api.js";
import { h, fill, table, link, button, empty, toast, pairs, confirmed } from "../dom.js";
import * as format from "../format.js";
import { pill } from "../tasktext.js";

const ended = (tasks) => tasks.succeeded + tasks.failed + tasks.cancelled;
const total = (tasks) => ended(tasks) + tasks.suspended + tasks.running + tasks.canceling;

/** A bar with a part for each outcome. */
function parts(tasks, name) {
  const sum = total(tasks) || 1;
  return h("span", { cls: "parts", role: "img", "aria-label": `${name}: ${tasks.succeeded} succeeded, ${tasks.failed} failed, ${tasks.running} running of ${total(tasks)}` },
    [["good", tasks.succeeded], ["bad", tasks.failed], ["dim", tasks.cancelled], ["busy", tasks.running + tasks.canceling]].map(([cls, number]) =>
      h("i", { cls, style: { width: `${(number / sum) * 100}%` } })));
}

export function show(root, { id }) {
  let timer;
  const later = (load) => { timer ??= setTimeout(() => { timer = undefined; load().catch((error) => toast(error.message, "bad")); }, 1000); };
  const view = id ? one(root, id) : list(root);
  return {
    ready: view.load(), refresh: view.load, end() { clearTimeout(timer); },
    receive(event) { if (/^(task\.did(Create|Complete|ChangeState)|group\.)/.test(event.type)) later(view.load); },
  };
}

function list(root) {
  const place = h("div");
  fill(root, h("h1", null, "Groups"), place);
  return {
    async load() {
      const groups = await all("v1/groups", { order: "newest" }, 500);
      fill(place, groups.length ? table("Groups of tasks", ["Name", "State", "Progress", "Ended", "Failed", "Received", "Created"], groups.map((group) => [
        link(`#/groups/${encodeURIComponent(group.name)}`, group.name), pill(group.state === "completed" ? "succeeded" : group.state), parts(group.tasks, group.name),
        h("span", { cls: "num" }, `${format.count(ended(group.tasks))} / ${format.count(total(group.tasks))}`), h("span", { cls: "num" }, format.count(group.tasks.failed)), h("span", { cls: "num" }, format.bytes(group.countOfBytesReceived)), format.ago(group.createdAt)]))
        : empty("No groups yet", "A group counts its tasks and reports when all have ended. Enter a group when you ", link("#/add", "add downloads"), "."));
    },
  };
}

function one(root, name) {
  const path = `v1/groups/${encodeURIComponent(name)}`;
  const place = h("div");
  fill(root, h("p", { cls: "crumb" }, link("#/groups", "Groups"), " / ", name), place);
  async function load() {
    const group = await get(path);
    const { tasks } = group;
    const act = (verb, text, danger) => button(text, async () => {
      if (danger && !(await confirmed(`${text} the group?`, `${format.count(total(tasks) - ended(tasks))} tasks have not ended.`, text))) return;
      await post(`${path}/${verb}`);
      toast(`${text}: done`);
      await load();
    }, danger ? "danger" : "");
    const show = (filter) => `#/tasks?group=${encodeURIComponent(name)}${filter ? `&status=${filter}` : ""}`;
    fill(place, h("div", { cls: "title" }, h("h1", null, name), pill(group.state === "completed" ? "succeeded" : group.state), h("div", { cls: "actions" },
      act("suspend", "Suspend"), act("resume", "Resume"), act("cancel", "Cancel", true), group.state === "open" ? act("close", "Close") : null)),
      parts(tasks, name),
      h("div", { cls: "counts" }, [["Running", tasks.running, "state:running", "busy"], ["Suspended", tasks.suspended, "state:suspended", ""], ["Succeeded", tasks.succeeded, "outcome:succeeded", "good"],
        ["Failed", tasks.failed, "outcome:failed", tasks.failed ? "bad" : ""], ["Cancelled", tasks.cancelled, "outcome:cancelled", ""]].map(([word, number, filter, cls]) =>
        h("a", { href: show(filter), cls: `count ${cls}` }, h("b", null, format.count(number)), h("span", null, word)))),
      h("section", { cls: "panel" }, pairs([["Received", format.bytes(group.countOfBytesReceived)], ["Sent", format.bytes(group.countOfBytesSent)], ["Created", format.time(group.createdAt)],
        ["Closed", group.closedAt && format.time(group.closedAt)], ["Completed", group.completedAt && format.time(group.completedAt)], ["Tasks", link(show(), `all ${format.count(total(tasks))} tasks`)]]),
      group.state === "open" ? h("p", { cls: "hint" }, "Close the group when you have added all of its tasks. It then accepts no more, and reports its end with one event.") : null));
  }
  return { load };
}
