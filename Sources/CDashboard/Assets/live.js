// The live state that views share: the connection, throughput, pending decisions. Events reach views through `subscribe`.

import { get, post, query, onToken, hasToken } from "./api.js";
import { EventStream } from "./stream.js";
import { outcome } from "./tasktext.js";

const subscribers = new Set();

export const live = {
  connection: { state: "connecting" },
  /** Bytes since the last sample. */
  received: 0,
  sent: 0,
  /** Decisions that wait for an answer, by id. */
  decisions: new Map(),
  /** Samples for the plots: seconds, bytes per second received and sent, running, waiting, free disk space. */
  samples: [],
  usage: null,
};

let stream;

/** Calls the function with each event, and with `{type: "connection"}` when the connection changes. Returns a function that ends it. */
export function subscribe(listener) {
  subscribers.add(listener);
  return () => subscribers.delete(listener);
}

function publish(event) {
  for (const subscriber of subscribers) subscriber(event);
}

export function connect() {
  stream?.stop();
  live.decisions.clear();
  stream = new EventStream(receive, (connection) => {
    live.connection = connection;
    publish({ type: "connection" });
    if (connection.state === "live" && !connection.resumed) refresh();
  });
}

export const reconnect = () => stream?.retryNow();

onToken(() => { if (hasToken()) connect(); });

async function refresh() {
  try {
    await readUsage();
    await readDecisions();
  } catch (error) { publish({ type: "problem", error }); }
}

export async function readUsage() {
  live.usage = await get("v1/usage");
  publish({ type: "usage" });
  return live.usage;
}

/** Reads the pending decisions of the newest sessions. Later ones arrive as events. */
async function readDecisions() {
  const { items } = await get("v1/sessions" + query({ limit: 200, order: "newest", state: "active" }));
  const queue = items.map((session) => session.id);
  if (!queue.includes("ses_shared")) queue.push("ses_shared");
  const work = async () => {
    for (let id = queue.pop(); id; id = queue.pop()) {
      const page = await get(`v1/sessions/${id}/decisions${query({ state: "pending", limit: 100 })}`).catch(() => null);
      for (const decision of page?.items ?? []) live.decisions.set(decision.id, decision);
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  publish({ type: "decisions", isInitial: true });
}

export async function answer(id, body) {
  const decision = await post(`v1/decisions/${id}`, body);
  live.decisions.delete(id);
  publish({ type: "decisions" });
  return decision;
}

export function forget(id) {
  if (live.decisions.delete(id)) publish({ type: "decisions" });
}

function receive(event) {
  const { type, data, taskId } = event;
  if (type === "downloadTask.didWriteData") live.received += data.bytesWritten;
  else if (type === "dataTask.didReceiveData") live.received += data.bytesReceived;
  else if (type === "task.didSendBodyData") live.sent += data.bytesSent;
  else if (type === "events.didReset") refresh();
  if (data?.decisionId && data.expiresAt) {
    live.decisions.set(data.decisionId, {
      id: data.decisionId, type, state: "pending", sessionId: event.sessionId, taskId, createdAt: event.time,
      expiresAt: data.expiresAt, default: data.default, data,
    });
    publish({ type: "decisions" });
  } else if (type === "task.didComplete" || (type === "task.didChangeState" && data.phase !== "waitingForDecision")) {
    let changed = false;
    for (const decision of live.decisions.values()) {
      if (decision.taskId === taskId) changed = live.decisions.delete(decision.id) || changed;
    }
    if (changed) publish({ type: "decisions" });
  }
  countTask(event);
  publish(event);
}

const states = new Map();

/** Keeps the counts between two reads of the usage. */
function countTask({ type, taskId, data }) {
  const tasks = live.usage?.tasks;
  if (!tasks) return;
  const move = (from, to) => {
    if (from === to) return;
    if (from && tasks[from] > 0) tasks[from] -= 1;
    if (to) tasks[to] += 1;
  };
  if (type === "task.didCreate") { states.set(taskId, "suspended"); move(null, "suspended"); } else if (type === "task.didChangeState") {
    if (data.state === "completed") return;
    move(states.get(taskId) ?? (data.state === "running" ? (data.phase === "queued" ? "suspended" : "running") : "running"), data.state);
    states.set(taskId, data.state);
  } else if (type === "task.didComplete") {
    move(states.get(taskId) ?? "running", outcome(data.error));
    states.delete(taskId);
  }
}

let lastSample = Date.now();
setInterval(() => {
  const now = Date.now();
  const seconds = (now - lastSample) / 1000;
  lastSample = now;
  const tasks = live.usage?.tasks;
  live.samples.push([now / 1000, live.received / seconds, live.sent / seconds, tasks?.running ?? null, tasks?.suspended ?? null,
    live.usage?.disk?.availableBytes ?? null]);
  if (live.samples.length > 600) live.samples.shift();
  live.received = live.sent = 0;
  // Decisions that expired without an event.
  for (const decision of live.decisions.values()) {
    if (Date.parse(decision.expiresAt) < now - 2000) forget(decision.id);
  }
  publish({ type: "sample" });
}, 1000);

setInterval(() => {
  if (live.connection.state === "live" && !document.hidden) readUsage().catch(() => {});
}, 30_000);
