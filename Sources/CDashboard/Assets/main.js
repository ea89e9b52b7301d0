// Starts the page: the router, the keyboard, the connection and the question for the token.

import { setToken, onToken, get } from "./api.js";
import { byId, fill, h, field, empty, toast } from "./dom.js";
import { live, connect, reconnect, subscribe } from "./live.js";
import { install as installKeys } from "./keys.js";

const views = {
  overview: () => import("./views/overview.js"),
  add: () => import("./views/add.js"),
  tasks: () => import("./views/tasks.js"),
  task: () => import("./views/task.js"),
  groups: () => import("./views/groups.js"),
  sessions: () => import("./views/sessions.js"),
  decisions: () => import("./views/decisions.js"),
  deliveries: () => import("./views/deliveries.js"),
  endpoints: () => import("./views/endpoints.js"),
  settings: () => import("./views/settings.js"),
};

const main = byId("main");
let current = null;
let number = 0;

/** The route of an address such as `#/tasks/tsk_…?state=running`. */
function route(hash = location.hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [first, ...rest] = path.split("/").map(decodeURIComponent);
  let name = first || "overview";
  if (name === "tasks" && rest[0]) name = "task";
  return { name, id: rest[0], query: Object.fromEntries(new URLSearchParams(query)) };
}

async function show() {
  const { name, id, query } = route();
  const turn = ++number;
  const section = name === "task" ? "tasks" : name;
  for (const item of document.querySelectorAll("#nav a")) {
    if (item.dataset.view === section) {
      item.setAttribute("aria-current", "page");
      item.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    else item.removeAttribute("aria-current");
  }
  current?.end?.();
  current = null;
  if (live.connection.state === "unauthorized") return askForToken();
  if (!views[name]) {
    return fill(main, h("h1", null, "No such page"), empty("This address has no view", "Choose one from the navigation."));
  }
  try {
    const module = await views[name]();
    if (turn !== number) return;
    const root = h("div", { cls: `view ${name}` });
    const view = module.show(root, { id, query });
    current = { ...view, name };
    fill(main, root);
    const title = root.querySelector("h1")?.textContent ?? "Ferry";
    document.title = `${title} · Ferry`;
    if (document.body.dataset.moved) main.focus({ preventScroll: true });
    document.body.dataset.moved = "true";
    await view.ready;
  } catch (error) {
    if (turn !== number || error.name === "AbortError") return;
    if (error.status === 401) return askForToken();
    main.append(h("p", { cls: "notice bad", role: "alert" }, error.message));
  }
}

function askForToken(message) {
  if (byId("token")) return;
  const input = h("input", { type: "password", id: "token", name: "token", autocomplete: "off", required: true, spellcheck: "false",
    pattern: "[!-~]+", title: "letters, digits and signs of ASCII, without blanks" });
  const problem = h("p", { cls: "notice bad", role: "alert", hidden: !message }, message);
  const form = h("form", { cls: "panel narrow" },
    h("h1", null, "Token"),
    h("p", null, "This service accepts only requests with a token. The page keeps it in memory and loses it when you reload."),
    field("Token", input, "A token from the service's token file or FERRY_TOKENS, without its tenant."),
    problem, h("button", { cls: "primary" }, "Continue"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    setToken(input.value);
    try {
      await get("v1/tasks?limit=1");
      live.connection = { state: "connecting" };
      form.remove();
      show();
    } catch (error) {
      problem.hidden = false;
      problem.textContent = error.message;
      input.select();
    }
  });
  current?.end?.();
  current = null;
  fill(main, form);
  document.title = "Token · Ferry";
  input.focus();
}

/** Forgets the token and asks for another one. */
export function leave() {
  setToken("");
  live.connection = { state: "unauthorized" };
  askForToken();
  connect();
}

function showConnection() {
  const { state, wait } = live.connection;
  const place = byId("connection");
  place.dataset.state = state;
  fill(place, {
    connecting: "Connecting …",
    live: "Live",
    unauthorized: "A token is needed",
    disconnected: ["Disconnected. ", h("button", { type: "button", cls: "link", onclick: reconnect }, "Connect now")],
  }[state]);
  const notice = byId("offline");
  if (state === "disconnected" && !notice) {
    document.body.prepend(h("p", { id: "offline", role: "alert" },
      `The service does not reply. What you see may be old. The page tries again every ${Math.max(1, Math.round(wait / 1000))} to 15 s. `,
      "On its machine, ", h("code", null, "systemctl status ferry"), " shows whether it runs."));
  } else if (state !== "disconnected") notice?.remove();
  if (state === "unauthorized") askForToken();
}

function showPending() {
  const badge = byId("pending");
  badge.hidden = live.decisions.size === 0;
  fill(badge, h("span", { "aria-hidden": "true" }, live.decisions.size), h("span", { cls: "sr" }, ` (${live.decisions.size} pending)`));
}

let known = 0;
subscribe((event) => {
  if (event.type === "connection") {
    showConnection();
    if (live.connection.state === "live" && live.connection.again) current?.refresh?.();
  } else if (event.type === "decisions") {
    showPending();
    if (live.decisions.size > known && !event.isInitial && !["decisions", "task"].includes(current?.name)) toast("A task waits for a decision. See Decisions.", "wait");
    known = live.decisions.size;
  } else if (event.type === "problem" && event.error.status !== 401) toast(event.error.message, "bad");
  current?.receive?.(event);
});

onToken(() => showConnection());
addEventListener("hashchange", show);
addEventListener("online", reconnect);
installKeys(() => current);
connect();
show();
