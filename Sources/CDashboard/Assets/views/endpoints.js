// Webhook endpoints of the tenant.

import { post, call, all } from "../api.js";
import { h, fill, table, link, button, empty, toast, field, copyable, confirmed, select } from "../dom.js";
import * as format from "../format.js";

const types = ["task.didComplete", "task.didCreate", "task.didChangeState", "group.didComplete", "session.didBecomeInvalid", "webhook.endpointDidDisable"];

export function show(root) {
  const place = h("div");
  const secret = h("div");
  const url = h("input", { name: "url", type: "url", required: true, placeholder: "https://…", autocomplete: "off", spellcheck: "false" });
  const description = h("input", { name: "description", autocomplete: "off" });
  const signature = select("signature", [["v1", "v1 (HMAC-SHA256, shared secret)"], ["v1a", "v1a (Ed25519, public key)"]], "v1");
  const boxes = types.map((type) => h("input", { type: "checkbox", name: "events", value: type, checked: type === "task.didComplete" }));
  const form = h("form", { cls: "panel" }, h("h2", null, "New endpoint"), h("div", { cls: "fields" }, field("URL", url), field("Description", description), field("Signature", signature)),
    h("fieldset", null, h("legend", null, "Events"), boxes.map((box) => field(box.value, box))), h("div", { cls: "actions" }, h("button", { cls: "primary" }, "Create")));
  fill(root, h("h1", null, "Endpoints"), secret, place, form);
  const showSecret = (endpoint) => fill(secret, h("div", { cls: "notice good", role: "alert" }, h("p", null, h("strong", null, "Copy the secret now. "), "The service does not show it again."), copyable(endpoint.secret)));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const endpoint = await post("v1/webhooks/endpoints", { url: url.value, ...(description.value ? { description: description.value } : {}), signature: signature.value, events: boxes.filter((box) => box.checked).map((box) => box.value) });
      if (endpoint.secret) showSecret(endpoint); else toast("The endpoint was created");
      form.reset();
      await load();
    } catch (error) { toast(error.message, "bad"); }
  });

  async function load() {
    const endpoints = await all("v1/webhooks/endpoints", {}, 100);
    fill(place, endpoints.length ? table("Webhook endpoints", ["URL", "State", "Events", "Signature", "Created", "Actions"], endpoints.map((endpoint) => {
      const path = `v1/webhooks/endpoints/${endpoint.id}`;
      const isOn = endpoint.state === "enabled";
      return [[h("strong", null, endpoint.url), endpoint.description ? h("p", { cls: "small dim" }, endpoint.description) : null, endpoint.disabledReason ? h("p", { cls: "small bad" }, endpoint.disabledReason) : null,
        endpoint.failingSince ? h("p", { cls: "small bad" }, `failing since ${format.time(endpoint.failingSince)}`) : null],
      h("span", { cls: `pill ${isOn ? "good" : "bad"}` }, endpoint.state), endpoint.events.join(", "), endpoint.signature, format.ago(endpoint.createdAt),
      h("div", { cls: "actions" }, link(`#/deliveries?endpoint=${endpoint.id}`, "Deliveries"),
        button("Test", async () => { const delivery = await post(`${path}/test`); location.hash = `#/deliveries/${delivery.id}`; }),
        button(isOn ? "Disable" : "Enable", async () => { await call("PATCH", path, { state: isOn ? "disabled" : "enabled" }); await load(); }),
        endpoint.signature === "v1" ? button("New secret", async () => { showSecret(await post(`${path}/rotate-secret`, {})); }) : null,
        button("Delete", async () => { if (await confirmed("Delete the endpoint?", `${endpoint.url} receives no further messages.`, "Delete")) { await call("DELETE", path); await load(); } }, "danger"))];
    })) : empty("No endpoints yet", "An endpoint receives the events of all sessions. Create one below."));
  }
  return { ready: load(), refresh: load, receive(event) { if (event.type === "webhook.endpointDidDisable") load().catch(() => {}); } };
}
