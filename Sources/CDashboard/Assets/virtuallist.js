// A grid of any number of rows of one height, of which only the visible ones are elements.

import { h } from "./dom.js";

const spare = 8;

export class VirtualList {
  #drawn = new Map();
  #pending = false;

  /**
   * `options`: label, heads, rowHeight, key(item), cells(item, isMarked) → elements, open(item), needMore(), onMarks().
   */
  constructor(options) {
    this.options = options;
    this.items = [];
    this.marked = new Set();
    this.active = -1;
    this.rows = h("div", { cls: "rows", role: "rowgroup" });
    this.element = h("div", { cls: "grid", role: "grid", tabindex: "0", "aria-label": options.label, "aria-multiselectable": "true" },
      h("div", { role: "rowgroup", cls: "heads" }, h("div", { role: "row", cls: "row", "aria-rowindex": 1 },
        options.heads.map((head) => h("span", { role: "columnheader", cls: `c-${head.toLowerCase().split(" ")[0]}` }, head)))),
      this.rows);
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.element);
    this.rows.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (!row) return;
      const index = this.items.findIndex((item) => options.key(item) === row.dataset.key);
      this.activate(index, false);
      if (event.target.matches("input")) this.mark(row.dataset.key, event.target.checked);
    });
  }

  end() { this.observer.disconnect(); }

  /** Replaces the rows, none of which is marked. */
  setItems(items, total) {
    this.items = items;
    this.total = total;
    this.marked.clear();
    if (this.active >= items.length) this.active = items.length - 1;
    this.#drawn.forEach((row) => row.remove());
    this.#drawn.clear();
    this.draw();
  }

  /** More rows at the end. */
  grown(total) {
    this.total = total;
    this.draw();
  }

  changed(key) {
    const row = this.#drawn.get(key);
    if (!row) return;
    row.dataset.stale = "";
    this.draw();
  }

  draw() {
    if (this.#pending) return;
    this.#pending = true;
    requestAnimationFrame(() => {
      this.#pending = false;
      this.#draw();
    });
  }

  #draw() {
    const { rowHeight, key, cells } = this.options;
    const height = this.element.clientHeight;
    const first = Math.max(0, Math.floor(this.element.scrollTop / rowHeight) - spare);
    const last = Math.min(this.items.length, Math.ceil((this.element.scrollTop + height) / rowHeight) + spare);
    this.rows.style.height = `${this.items.length * rowHeight}px`;
    this.element.setAttribute("aria-rowcount", (this.total ?? this.items.length) + 1);
    const wanted = new Set();
    for (let index = first; index < last; index += 1) {
      const item = this.items[index];
      const id = key(item);
      wanted.add(id);
      let row = this.#drawn.get(id);
      const isMarked = this.marked.has(id);
      if (!row || "stale" in row.dataset) {
        const fresh = h("div", { cls: "row", role: "row", id: `row-${id}` }, cells(item, isMarked));
        fresh.dataset.key = id;
        if (row) row.replaceWith(fresh); else this.rows.append(fresh);
        row = fresh;
        this.#drawn.set(id, row);
      }
      row.style.transform = `translateY(${index * rowHeight}px)`;
      row.setAttribute("aria-rowindex", index + 2);
      row.setAttribute("aria-selected", isMarked);
      row.classList.toggle("active", index === this.active);
    }
    for (const [id, row] of this.#drawn) {
      if (!wanted.has(id)) {
        row.remove();
        this.#drawn.delete(id);
      }
    }
    const active = this.items[this.active];
    if (active && this.#drawn.has(key(active))) this.element.setAttribute("aria-activedescendant", `row-${key(active)}`);
    else this.element.removeAttribute("aria-activedescendant");
    if (last + 40 >= this.items.length) this.options.needMore();
  }

  activate(index, scroll = true) {
    if (!this.items.length) return;
    this.active = Math.max(0, Math.min(index, this.items.length - 1));
    if (scroll) {
      const { rowHeight } = this.options;
      const top = this.active * rowHeight;
      const head = rowHeight;
      if (top < this.element.scrollTop) this.element.scrollTop = top;
      else if (top + rowHeight + head > this.element.scrollTop + this.element.clientHeight) {
        this.element.scrollTop = top + rowHeight + head - this.element.clientHeight;
      }
    }
    this.draw();
  }

  move(step) {
    this.element.focus({ preventScroll: true });
    this.activate(this.active + step);
  }

  get activeItem() { return this.items[this.active]; }

  mark(key, isMarked = !this.marked.has(key)) {
    if (isMarked) this.marked.add(key); else this.marked.delete(key);
    this.changed(key);
    this.options.onMarks();
  }

  markAll() {
    const isFull = this.marked.size === this.items.length;
    this.marked.clear();
    if (!isFull) for (const item of this.items) this.marked.add(this.options.key(item));
    for (const row of this.#drawn.values()) row.dataset.stale = "";
    this.draw();
    this.options.onMarks();
  }
}
