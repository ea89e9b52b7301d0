// The API reference: RapiDoc with the contract of this server. Requests that are tried go to this server, also under a path prefix.

import "./vendor/rapidoc.js";

const main = document.getElementById("main");

function style(element) {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  element.setAttribute("theme", isDark ? "dark" : "light");
  element.setAttribute("bg-color", isDark ? "#0f1216" : "#ffffff");
  element.setAttribute("text-color", isDark ? "#e6e9ee" : "#16191f");
  element.setAttribute("primary-color", isDark ? "#7aa2ff" : "#1d4ed8");
  element.setAttribute("nav-bg-color", isDark ? "#171b21" : "#f7f8fa");
}

try {
  const reply = await fetch(document.body.dataset.spec, { credentials: "omit" });
  if (!reply.ok) throw new Error(`the service replied ${reply.status}`);
  const contract = await reply.json();
  contract.servers = [{ url: new URL(".", document.baseURI).href.replace(/\/$/, ""), description: "This server" }];
  const element = document.createElement("rapi-doc");
  const attributes = {
    "render-style": "focused", "schema-style": "table", "show-header": "false", "allow-authentication": "true", "allow-server-selection": "false",
    "allow-spec-url-load": "false", "allow-spec-file-load": "false", "load-fonts": "false", "regular-font": "system-ui, sans-serif",
    "mono-font": "ui-monospace, 'DejaVu Sans Mono', monospace", "use-path-in-nav-bar": "true", "nav-item-spacing": "compact", "show-method-in-nav-bar": "as-colored-text",
    "persist-auth": "false", "schema-description-expanded": "true", "default-schema-tab": "schema", "sort-endpoints-by": "none", "fetch-credentials": "omit",
  };
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  style(element);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => style(element));
  main.replaceChildren(element);
  await customElements.whenDefined("rapi-doc");
  await element.loadSpec(contract);
} catch (error) {
  const note = document.createElement("p");
  note.setAttribute("role", "alert");
  note.textContent = `The contract could not be loaded: ${error.message}. Reload the page, or read openapi.yaml.`;
  main.replaceChildren(note);
}
