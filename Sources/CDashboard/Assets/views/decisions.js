// Decisions that wait for an answer.

import { h, fill, empty, link } from "../dom.js";
import { live } from "../live.js";
import { decisionCard } from "../decisionform.js";

export function show(root) {
  const place = h("div", { cls: "cards" });
  const cards = new Map();
  function draw() {
    for (const [id, card] of cards) if (!live.decisions.has(id)) { card.remove(); cards.delete(id); }
    if (!live.decisions.size) {
      return fill(place, empty("No pending decisions", "Sessions and tasks whose delegate says “ask” show their challenges, redirects and responses here. ",
        link("docs", "The API reference"), " describes delegates."));
    }
    if (!cards.size) fill(place);
    const order = [...live.decisions.values()].sort((a, b) => a.expiresAt.localeCompare(b.expiresAt));
    for (const decision of order) {
      if (cards.has(decision.id)) continue;
      const card = decisionCard(decision);
      cards.set(decision.id, card);
      place.append(card);
    }
  }
  fill(root, h("div", { cls: "title" }, h("h1", null, "Decisions")), h("p", { cls: "hint" }, "A decision that expires gets its default answer."), place);
  draw();
  return { receive(event) { if (event.type === "decisions") draw(); } };
}
