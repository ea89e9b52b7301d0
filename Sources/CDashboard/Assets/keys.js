// The keyboard. Views offer `keys`: functions by key.

import { byId, h } from "./dom.js";

const list = [
  ["/", "search, or filter the list"],
  ["j  k", "next or previous row"],
  ["Enter", "open the row"],
  ["Space", "mark the row"],
  ["a", "mark all rows that are loaded, or none"],
  ["r", "retry the marked tasks, or this one"],
  ["x", "cancel the marked tasks, or this one"],
  ["s", "suspend or resume"],
  ["n", "add downloads"],
  ["g then o t g s d", "overview, tasks, groups, sessions, decisions"],
  ["Esc", "leave a field or close a dialog"],
  ["?", "this help"],
];

const places = { o: "#/", t: "#/tasks", g: "#/groups", s: "#/sessions", d: "#/decisions" };

export function install(view) {
  let afterG = 0;
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    const isTyping = target.matches?.("input:not([type=checkbox]), textarea, select");
    if (event.key === "Escape" && isTyping) return target.blur();
    if (isTyping || document.querySelector("dialog[open]")) return;
    const isControl = target.matches?.("a, button, input, summary, [role=button]");
    if (isControl && (event.key === "Enter" || event.key === " ")) return;
    let action;
    if (performance.now() - afterG < 1000 && places[event.key]) {
      const place = places[event.key];
      action = () => { location.hash = place; };
      afterG = 0;
    } else if (event.key === "g") {
      afterG = performance.now();
      return;
    } else if (event.key === "?") action = help;
    else if (event.key === "n") action = () => { location.hash = "#/add"; };
    else action = view()?.keys?.[event.key];
    if (event.key === "/" && !action) action = () => document.querySelector("main input[type=search]")?.focus();
    if (!action) return;
    event.preventDefault();
    action();
  });
  byId("help-open").addEventListener("click", help);
}

function help() {
  const dialog = h("dialog", { "aria-labelledby": "help-title" },
    h("form", { method: "dialog" },
      h("h2", { id: "help-title" }, "Keys"),
      h("dl", { cls: "keys" }, list.map(([key, text]) => [
        h("dt", null, key.split(/(\s+)/).map((part) => (/^\s+$|^then$/.test(part) ? part : h("kbd", null, part)))),
        h("dd", null, text)])),
      h("div", { cls: "actions" }, h("button", { cls: "primary" }, "Close"))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
