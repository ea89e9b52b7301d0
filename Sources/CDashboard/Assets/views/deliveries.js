// Deliveries of webhook messages, and one delivery with its attempts.

import { get, post, query } from "../api.js";
import { h, fill, table, link, button, empty, toast, pairs, field, select, copyable } from "../dom.js";
import * as format from "../format.js";

const stateOf = (delivery) => h("span", { cls: `pill ${{ pending: "wait", delivered: "good", failed: "bad" }[delivery.state]}` }, delivery.state);

export function show(root, { id, query: initial }) {
  let timer;
  const view = id ? one(root, id) : list(root, initial);
  return {
    ready: view.load(), refresh: view.load, end() { clearTimeout(timer); },
    receive(event) {
      if (!/^(task\.didComplete|group\.|webhook\.)/.test(event.type)) return;
      timer ??= setTimeout(() => { timer = undefined; view.load().catch(() => {}); }, 1500);
    },
  };
}

function list(root, initial) {
  const state = select("state", [["", "All states"], ["pending", "Pending"], ["delivered", "Delivered"], ["failed", "Failed"]], initial.state);
  const task = h("input", { name: "task", value: initial.task ?? "", placeholder: "tsk_…", spellcheck: "false", autocomplete: "off", type: "search" });
  const endpoint = h("input", { name: "endpoint", value: initial.endpoint ?? "", placeholder: "whe_…", spellcheck: "false", autocomplete: "off" });
  const form = h("form", { cls: "filters", role: "search" }, field("State", state), field("Task", task), field("Endpoint", endpoint));
  const place = h("div");
  let items = [], cursor;
  const filter = () => ({ state: state.value, task: task.value.trim(), endpoint: endpoint.value.trim() });
  const resend = button("Send failed again", async () => {
    const { task: ofTask, endpoint: ofEndpoint } = filter();
    const body = { state: "failed", ...(ofTask ? { task: ofTask } : {}), ...(ofEndpoint ? { endpoint: ofEndpoint } : {}) };
    const { redelivered } = await post("v1/webhooks/deliveries/redeliver", body);
    toast(`${format.count(redelivered)} ${redelivered === 1 ? "message is" : "messages are"} pending again`);
    await load();
  });
  fill(root, h("div", { cls: "title" }, h("h1", null, "Deliveries"), h("div", { cls: "actions" }, resend)), form, place);
  form.addEventListener("change", () => load().catch((error) => toast(error.message, "bad")));
  form.addEventListener("submit", (event) => { event.preventDefault(); load().catch((error) => toast(error.message, "bad")); });

  async function load(isMore = false) {
    const page = await get("v1/webhooks/deliveries" + query({ ...filter(), limit: 100, order: "newest", cursor: isMore ? cursor : undefined }));
    items = isMore ? [...items, ...page.items] : page.items;
    cursor = page.nextCursor;
    fill(place, items.length ? table("Deliveries of webhook messages", ["Message", "To", "State", "Attempts", "Last reply", "Created", "Action"], items.map((delivery) => {
      const last = delivery.attempts[delivery.attempts.length - 1];
      return [link(`#/deliveries/${delivery.id}`, delivery.type), h("span", { cls: "to" }, delivery.url ?? delivery.endpoint ?? "–"), stateOf(delivery), h("span", { cls: "num" }, delivery.attemptCount),
        h("span", { cls: last && !(last.status >= 200 && last.status < 300) ? "bad" : "" }, last ? last.error ?? `${last.status}` : delivery.nextAttemptAt ? `next ${format.ago(delivery.nextAttemptAt)}` : "–"), format.ago(delivery.createdAt),
        button("Send again", async () => { await post(`v1/webhooks/deliveries/${delivery.id}/redeliver`); toast("The message is pending again"); await load(); })];
    })) : empty("No deliveries", "Messages to the webhooks of tasks, sessions and ", link("#/endpoints", "endpoints"), " appear here."),
    cursor ? h("div", { cls: "actions" }, button("More", () => load(true))) : null);
  }
  return { load };
}

function one(root, id) {
  const path = `v1/webhooks/deliveries/${encodeURIComponent(id)}`;
  const place = h("div");
  fill(root, h("p", { cls: "crumb" }, link("#/deliveries", "Deliveries"), " / ", h("code", null, format.short(id))), place);
  async function load() {
    const delivery = await get(path);
    fill(place, h("div", { cls: "title" }, h("h1", null, delivery.type), stateOf(delivery), h("div", { cls: "actions" },
      button("Send again", async () => { await post(`${path}/redeliver`); toast("The message is pending again"); await load(); }, "primary"), button("Refresh", load))),
    h("section", { cls: "panel" }, pairs([["To", delivery.url], ["Endpoint", delivery.endpoint && link(`#/endpoints`, delivery.endpoint)], ["Message id", copyable(delivery.webhookId)],
      ["Task", delivery.taskId && link(`#/tasks/${delivery.taskId}`, format.short(delivery.taskId))], ["Created", format.time(delivery.createdAt)], ["Next attempt", delivery.nextAttemptAt && `${format.time(delivery.nextAttemptAt)} (${format.ago(delivery.nextAttemptAt)})`], ["Ended", delivery.finishedAt && format.time(delivery.finishedAt)]])),
    h("section", { cls: "panel" }, h("h2", null, `Attempts (${delivery.attemptCount})`), delivery.attempts.length ? table("Attempts", ["Time", "Status", "Latency", "Reply or error"], delivery.attempts.map((attempt) => [
      format.time(attempt.time), h("span", { cls: attempt.status >= 200 && attempt.status < 300 ? "good" : "bad" }, attempt.status ?? "none"), format.duration(attempt.latency), attempt.error ?? h("code", null, attempt.reply || "(empty)")])) : h("p", { cls: "dim" }, "None yet.")));
  }
  return { load };
}
