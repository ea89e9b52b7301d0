// Commands for tasks: one, the marked ones, or all that match a filter.

import { call, post } from "./api.js";
import { confirmed, toast } from "./dom.js";
import { count } from "./format.js";

const past = { cancel: "cancelled", retry: "retried", suspend: "suspended", resume: "resumed", delete: "deleted" };

export const perform = (verb, id) => (verb === "delete" ? call("DELETE", `v1/tasks/${id}`) : post(`v1/tasks/${id}/${verb}`));

/** Whether the service leaves a task as it is, because it has ended. */
const stays = (verb, task) => ["cancel", "suspend", "resume"].includes(verb) && task.state === "completed"
  && !(verb === "cancel" && task.outcome === "cancelled");

/** Gives a command to some tasks, eight at a time, and reports the result. */
export async function performAll(verb, ids) {
  if (!ids.length) return;
  if (verb === "delete" && !(await confirmed("Delete tasks?", `${count(ids.length)} tasks, with their bodies and events.`, "Delete"))) return;
  const queue = [...ids];
  let done = 0;
  const failures = [];
  const work = async () => {
    for (let id = queue.shift(); id; id = queue.shift()) {
      try {
        const task = await perform(verb, id);
        if (stays(verb, task)) failures.push(`the task has already ended: ${task.outcome}`);
        else done += 1;
      } catch (error) { failures.push(error.message); }
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  report(verb, done, failures.length, failures[0]);
}

function report(verb, done, failed, why) {
  const text = `${count(done)} ${done === 1 ? "task" : "tasks"} ${past[verb]}`;
  toast(failed ? `${text}, ${count(failed)} not: ${why}` : text, failed ? "bad" : "ok");
}

/** Gives a command to all tasks that match a filter, after the service has counted them. */
export async function performMatching(verb, filter) {
  const selection = Object.keys(filter).length ? filter : { all: true };
  const { matched } = await post(`v1/tasks/${verb}`, { ...selection, dryRun: true });
  if (!matched) return toast("No task matches the filter.", "wait");
  const title = `${verb[0].toUpperCase()}${verb.slice(1)} ${count(matched)} tasks?`;
  if (!(await confirmed(title, "This includes tasks that are not loaded. Tasks in a state that does not allow the command stay unchanged.",
    `${verb[0].toUpperCase()}${verb.slice(1)} ${count(matched)}`))) return;
  const result = await post(`v1/tasks/${verb}`, selection);
  report(verb, result.changed, result.failed, "see the state of each");
}
