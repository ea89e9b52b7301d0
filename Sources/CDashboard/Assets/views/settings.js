// The settings and limits of the service, as they hold.

import { get, hasToken } from "../api.js";
import { h, fill, table, field, pairs, button } from "../dom.js";
import { live } from "../live.js";
import { leave } from "../main.js";

export function show(root) {
  const place = h("div");
  const search = h("input", { type: "search", name: "search", spellcheck: "false", autocomplete: "off" });
  let settings = [], limits = [];
  const text = (value) => (value == null ? h("span", { cls: "dim" }, "none") : Array.isArray(value) ? (value.length ? value.join(", ") : h("span", { cls: "dim" }, "none")) : String(value));
  function draw() {
    const wanted = search.value.trim().toLowerCase();
    const matches = (...words) => words.some((word) => word.toLowerCase().includes(wanted));
    fill(place, h("section", { cls: "panel" }, h("h2", null, "Settings"), table("Settings", ["Name", "Value", "Source"], settings.filter((row) => matches(row.name, row.help ?? "")).map((row) => [
      [h("code", null, row.name), row.help ? h("p", { cls: "small dim" }, row.help) : null], h("code", { cls: row.source === "default" ? "dim" : "" }, text(row.value)), row.source]))),
    h("section", { cls: "panel" }, h("h2", null, "Limits"), table("Limits", ["Name", "Value", "Meaning", "Beyond it"], limits.filter((row) => matches(row.name, row.meaning)).map((row) => [h("code", null, row.name), h("span", { cls: "num" }, `${row.value.toLocaleString("en")}${row.unit === "count" ? "" : ` ${row.unit}`}`), row.meaning, row.beyond]))));
  }
  fill(root, h("div", { cls: "title" }, h("h1", null, "Settings")), h("section", { cls: "panel" }, pairs([["Version", document.body.dataset.version], ["Connection", live.connection.state],
    ["Token", hasToken() ? button("Delete the token", leave) : "none is needed"]])), h("form", { cls: "filters", role: "search", onsubmit: (event) => event.preventDefault() }, field("Find a setting", search)), place);
  search.addEventListener("input", draw);
  async function load() {
    ({ settings, limits } = await get("v1/settings"));
    draw();
  }
  return { ready: load(), refresh: load };
}
