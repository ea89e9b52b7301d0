// Builds elements. Text always becomes a text node, so text of peers is never read as HTML.

/** Makes an element. Properties that begin with "on" are listeners; null, undefined and false are left out. */
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value == null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name === "cls" ? "class" : name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child == null || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

export const byId = (id) => document.getElementById(id);

let lastToast;
/** Shows a short message, which screen readers announce. */
export function toast(text, kind = "ok") {
  lastToast?.remove();
  const item = h("div", { cls: `toast ${kind}` }, text,
    h("button", { type: "button", cls: "link", "aria-label": "Dismiss", onclick: () => item.remove() }, "✕"));
  lastToast = item;
  byId("toasts").append(item);
  if (kind !== "bad") setTimeout(() => item.remove(), 8000);
}

/** A table with a caption for screen readers. Rows are arrays of cells, or elements. */
export function table(caption, heads, rows, options = {}) {
  return h("div", { cls: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", { cls: options.cls },
      h("caption", { cls: "sr" }, caption),
      h("thead", null, h("tr", null, heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", null, rows.map((row) =>
        row instanceof Node ? row : h("tr", null, row.map((cell) => h("td", null, cell)))))));
}

/** Pairs of name and value. Pairs without a value are left out. */
export function pairs(list) {
  return h("dl", { cls: "pairs" }, list.filter(([, value]) => value != null && value !== "").map(([name, value]) =>
    [h("dt", null, name), h("dd", null, value)]));
}

let fieldNumber = 0;
/** A labelled form control with an optional hint. */
export function field(label, control, hint) {
  const id = control.id || `f${++fieldNumber}`;
  control.id = id;
  if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
  const isBox = control.type === "checkbox";
  return h("div", { cls: isBox ? "field box" : "field" },
    isBox ? [control, h("label", { for: id }, label)] : [h("label", { for: id }, label), control],
    hint && h("p", { cls: "hint", id: `${id}-hint` }, hint));
}

export function select(name, choices, value, properties = {}) {
  return h("select", { name, ...properties }, choices.map(([key, text]) =>
    h("option", { value: key, selected: key === (value ?? "") }, text ?? key)));
}

export function button(text, action, cls = "") {
  const element = h("button", { type: "button", cls }, text);
  element.addEventListener("click", async () => {
    if (element.disabled) return;
    element.disabled = true;
    try { await action(); } catch (error) { toast(error.message, "bad"); } finally { element.disabled = false; }
  });
  return element;
}

export function copyable(text, shown = text) {
  return h("span", { cls: "copy" }, h("code", null, shown), button("Copy", async () => {
    await navigator.clipboard.writeText(text);
    toast("Copied");
  }, "link"));
}

/** An empty view that says what to do. */
export function empty(title, ...advice) {
  return h("div", { cls: "empty" }, h("h2", null, title), h("p", null, advice));
}

export function link(href, ...text) {
  return h("a", { href }, text);
}

/** Asks for confirmation in a dialog. Returns whether the user agreed. */
export function confirmed(title, text, action) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-labelledby": "confirm-title" },
      h("form", { method: "dialog" }, h("h2", { id: "confirm-title" }, title), h("p", null, text),
        h("div", { cls: "actions" }, h("button", { value: "no" }, "Keep as it is"),
          h("button", { value: "yes", cls: "danger" }, action))));
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes");
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
