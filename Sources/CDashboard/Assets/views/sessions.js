// Sessions, and one session.

import { get, post, call, all } from "../api.js";
import { h, fill, table, link, button, empty, toast, pairs, confirmed, copyable } from "../dom.js";
import * as format from "../format.js";

export function show(root, { id }) {
  const view = id ? one(root, id) : list(root);
  return { ready: view.load(), refresh: view.load, receive(event) { if (event.type.startsWith("session.did")) view.load().catch(() => {}); } };
}

function list(root) {
  const place = h("div");
  fill(root, h("h1", null, "Sessions"), place);
  return {
    async load() {
      const sessions = await all("v1/sessions", { order: "newest" }, 500);
      const shared = sessions.some((session) => session.id === "ses_shared") ? [] : [await get("v1/sessions/ses_shared").catch(() => null)].filter(Boolean);
      fill(place, table("Sessions", ["Name", "Type", "State", "Delegate asks", "Created"], [...shared, ...sessions].map((session) => [
        link(`#/sessions/${session.id}`, session.id === "ses_shared" ? "Shared session" : session.description || session.identifier || format.short(session.id)), session.type,
        h("span", null, session.state), asks(session.delegate) || h("span", { cls: "dim" }, "nothing"), format.ago(session.createdAt)])),
      sessions.length ? null : h("p", { cls: "hint" }, "Programs create further sessions with POST /v1/sessions. ", link("docs", "See the API reference"), "."));
    },
  };
}

const asks = (delegate) => Object.entries(delegate ?? {}).filter(([, value]) => value === "ask").map(([name]) => name).join(", ");

function one(root, id) {
  const path = `v1/sessions/${encodeURIComponent(id)}`;
  const place = h("div");
  fill(root, h("p", { cls: "crumb" }, link("#/sessions", "Sessions"), " / ", h("code", null, format.short(id))), place);
  async function load() {
    const [session, cookies, credentials, cache] = await Promise.all([get(path), get(`${path}/cookies`).catch(() => null), get(`${path}/credentials`).catch(() => null), get(`${path}/cache`).catch(() => null)]);
    const act = (verb, text, body, warning) => button(text, async () => {
      if (warning && !(await confirmed(`${text}?`, warning, text))) return;
      await (verb ? post(`${path}/${verb}`, body) : call("DELETE", path));
      toast(`${text}: done`);
      if (verb) await load(); else location.hash = "#/sessions";
    }, warning ? "danger" : "");
    const isShared = id === "ses_shared";
    fill(place, h("div", { cls: "title" }, h("h1", null, isShared ? "Shared session" : session.description || session.identifier || format.short(id)), h("span", { cls: "pill dim" }, session.type), h("span", { cls: `pill ${session.state === "active" ? "good" : "dim"}` }, session.state),
      h("div", { cls: "actions" }, h("a", { cls: "button", href: `#/tasks?session=${id}` }, "Tasks"),
        session.state === "active" ? [act("flush", "Flush"), act("reset", "Reset", undefined, "Cookies, cache and credentials of the session are deleted."),
          isShared ? null : [act("invalidate", "Finish and invalidate", { mode: "finishTasks" }, "The session accepts no further tasks. Running tasks continue to their end."),
            act("invalidate", "Cancel and invalidate", { mode: "cancelTasks" }, "The session accepts no further tasks, and all of its tasks are cancelled.")]]
          : session.state === "invalid" ? act("", "Delete", undefined, "The session, its tasks, bodies and events are deleted.") : null)),
    h("div", { cls: "columns" }, h("div", null,
      h("section", { cls: "panel" }, h("h2", null, "Session"), pairs([["Id", copyable(session.id)], ["Identifier", session.identifier], ["Created", format.time(session.createdAt)], ["Delegate asks", asks(session.delegate)],
        ["Decision timeout", session.delegate && format.duration(session.delegate.decisionTimeout)], ["Webhook", session.delegate?.webhook?.url]])),
      h("section", { cls: "panel" }, h("h2", null, "Configuration"), pairs(Object.entries(session.configuration).map(([name, value]) => [h("code", null, name), value == null ? null : h("span", null, typeof value === "object" ? JSON.stringify(value) : String(value))])))),
    h("div", null,
      cache ? h("section", { cls: "panel" }, h("h2", null, "Cache"), pairs([["Memory", `${format.bytes(cache.currentMemoryUsage)} of ${format.bytes(cache.memoryCapacity)}`], ["Disk", `${format.bytes(cache.currentDiskUsage)} of ${format.bytes(cache.diskCapacity)}`], ["Entries", format.count(cache.countOfEntries)]]),
        h("div", { cls: "actions" }, button("Empty the cache", async () => { await call("DELETE", `${path}/cache`); toast("The cache is empty"); await load(); }))) : null,
      credentials ? h("section", { cls: "panel" }, h("h2", null, "Credentials"), credentials.items.length ? table("Credentials", ["Server", "Realm", "User", "Kept"], credentials.items.map(({ protectionSpace: space, credential }) => [`${space.protocol}://${space.host}:${space.port}`, space.realm ?? "–", credential.user ?? "certificate", credential.persistence])) : h("p", { cls: "dim" }, "None. Secrets never leave the service.")) : null,
      cookies ? h("section", { cls: "panel" }, h("h2", null, "Cookies"), cookies.items.length ? table("Cookies", ["Domain", "Name", "Path", "Expires"], cookies.items.slice(0, 200).map((cookie) => [cookie.domain, cookie.name, cookie.path, cookie.expiresDate ? format.ago(cookie.expiresDate) : "with the session"])) : h("p", { cls: "dim" }, "None."),
        cookies.items.length ? h("div", { cls: "actions" }, button("Delete all cookies", async () => { await call("DELETE", `${path}/cookies`); await load(); }, "danger")) : null) : null)));
  }
  return { load };
}
