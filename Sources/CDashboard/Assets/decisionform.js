// Forms that answer decisions.

import { h, field, select, button, pairs, copyable, link, toast, confirmed } from "./dom.js";
import { answer, forget } from "./live.js";
import * as format from "./format.js";

const titles = {
  "task.willPerformHTTPRedirection": "Redirect", "dataTask.didReceiveResponse": "Response", "dataTask.willCacheResponse": "Store in the cache",
  "task.willBeginDelayedRequest": "Delayed request", "task.needNewBodyStream": "Body needed",
};
const defaults = {
  performDefaultHandling: "the default handling applies", follow: "the redirect is followed", fail: "the task fails", continue: "the request is sent",
  allow: "the response is accepted", allowed: "the response is stored",
};

/** A card with the facts of a decision and the form that answers it. */
export function decisionCard(decision) {
  const { data, type } = decision;
  const space = data.protectionSpace;
  const method = space?.authenticationMethod.replace("NSURLAuthenticationMethod", "");
  const name = space ? (method === "ServerTrust" ? `Trust ${space.host}?` : method === "ClientCertificate" ? `Client certificate for ${space.host}` : `Sign in to ${space.host}`) : titles[type] ?? type;
  const send = async (body, done) => {
    try {
      await answer(decision.id, body);
      toast(done);
    } catch (error) {
      if (error.status === 409 || error.status === 404) forget(decision.id);
      throw error;
    }
  };
  const expires = h("span", { cls: "expires" });
  const tick = () => {
    const left = (Date.parse(decision.expiresAt) - Date.now()) / 1000;
    expires.textContent = left > 0 ? `${format.duration(Math.ceil(left))} left, then ${defaults[decision.default] ?? decision.default}` : "expired";
    if (expires.isConnected || !tick.ran) { tick.ran = true; setTimeout(tick, 1000); }
  };
  tick();
  return h("section", { cls: "panel decision", "aria-label": name, id: `decision-${decision.id}` },
    h("div", { cls: "title" }, h("h2", null, name), expires),
    h("p", { cls: "dim" }, h("code", null, type), decision.taskId ? [" of task ", link(`#/tasks/${decision.taskId}`, format.short(decision.taskId))] : null),
    space ? challenge(decision, method, send) : other(decision, send));
}

function challenge({ data }, method, send) {
  const space = data.protectionSpace;
  const facts = pairs([
    ["Server", `${space.protocol ?? "https"}://${space.host}:${space.port}${space.isProxy ? " (a proxy)" : ""}`], ["Method", method], ["Realm", space.realm],
    ["Failed attempts", data.previousFailureCount || null], ["Proposed user", data.proposedCredential?.user],
    ["Accepted issuers", space.distinguishedNames?.join("; ")],
  ]);
  const others = [
    button("Default handling", () => send({ disposition: "performDefaultHandling" }, "The default applies")),
    button("Reject this method", () => send({ disposition: "rejectProtectionSpace" }, "The method was rejected")),
    button("Cancel the task", () => send({ disposition: "cancelAuthenticationChallenge" }, "The task is being cancelled"), "danger"),
  ];
  if (method === "ServerTrust") {
    const trust = space.serverTrust;
    return [facts, h("p", { cls: `notice ${trust.evaluation.isTrusted ? "good" : "bad"}` }, h("strong", null, trust.evaluation.isTrusted ? "The system trusts this chain. " : "The system does not trust this chain. "), trust.evaluation.message),
      h("ol", { cls: "chain" }, trust.certificates.map(certificate)),
      h("div", { cls: "actions" }, button("Trust", async () => {
        if (trust.evaluation.isTrusted || await confirmed(`Trust ${space.host}?`, `The system found: ${trust.evaluation.message}. Compare the SHA-256 fingerprint with one from a source that you trust.`, "Trust anyway")) {
          await send({ disposition: "useCredential", credential: { trust: true } }, "The chain is trusted");
        }
      }, "primary"), others)];
  }
  const isCertificate = method === "ClientCertificate";
  const user = h("input", { name: "user", autocomplete: "off", required: true, spellcheck: "false", value: data.proposedCredential?.user ?? "" });
  const password = h("input", { name: "password", type: "password", autocomplete: "off" });
  const certificatePEM = h("textarea", { name: "clientCertificate", rows: 4, required: true, spellcheck: "false", placeholder: "-----BEGIN CERTIFICATE-----" });
  const key = h("textarea", { name: "privateKey", rows: 4, required: true, spellcheck: "false", placeholder: "-----BEGIN PRIVATE KEY-----" });
  const persistence = select("persistence", [["none", "This task only"], ["forSession", "The session, in memory"], ["permanent", "The session, stored encrypted"]], "forSession");
  const form = h("form", null, facts,
    isCertificate ? [field("Certificate (PEM)", certificatePEM), field("Private key (PEM)", key)] : h("div", { cls: "fields" }, field("User", user), field("Password", password), field("Keep for", persistence)),
    h("div", { cls: "actions" }, h("button", { cls: "primary" }, isCertificate ? "Use certificate" : "Sign in"), others));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const credential = isCertificate ? { clientCertificate: certificatePEM.value, privateKey: key.value } : { user: user.value, password: password.value, persistence: persistence.value };
    try { await send({ disposition: "useCredential", credential }, "The credentials were sent"); } catch (error) { toast(error.message, "bad"); }
  });
  return form;
}

/** Readable form of a distinguished name: its common name first. */
function certificate(item, index) {
  const now = Date.now();
  const isExpired = Date.parse(item.notAfter) < now, isEarly = Date.parse(item.notBefore) > now;
  return h("li", null,
    h("p", null, h("strong", null, commonName(item.subject)), " ", h("span", { cls: "dim" }, index === 0 ? "the server" : item.subject === item.issuer ? "root" : "intermediate"),
      item.subject === item.issuer && index === 0 ? h("span", { cls: "pill wait" }, "self-signed") : null,
      isExpired ? h("span", { cls: "pill bad" }, "expired") : isEarly ? h("span", { cls: "pill bad" }, "not yet valid") : null),
    pairs([["Subject", item.subject], ["Issued by", item.issuer],
      ["Valid", `${item.notBefore.slice(0, 10)} to ${item.notAfter.slice(0, 10)} (${isExpired ? "ended" : "ends"} ${format.ago(item.notAfter)})`],
      ["SHA-256", copyable(item.sha256, fingerprint(item.sha256))], ["Public key", copyable(item.publicKeySHA256)]]),
    h("details", null, h("summary", null, "PEM"), h("pre", { tabindex: "0" }, item.pem)));
}

const commonName = (subject) => subject.match(/CN\s*=\s*([^,/+]+)/)?.[1].trim() ?? subject;
const fingerprint = (text) => (/^[0-9a-f]{64}$/i.test(text) ? text.toUpperCase().match(/../g).join(":") : text);

function other({ type, data }, send) {
  const response = data.response;
  const facts = pairs([["Response", response && `${response.status} from ${response.url}`], ["Type", response?.mimeType], ["Size", response && response.expectedContentLength >= 0 ? format.bytes(response.expectedContentLength) : null],
    ["Bytes", data.countOfBytes != null ? format.bytes(data.countOfBytes) : null], ["Location", response?.headers?.Location]]);
  switch (type) {
    case "task.willPerformHTTPRedirection": return requestForm(facts, data.request, "Follow", (request) => send({ request }, "The redirect is followed"),
      button("Do not follow", () => send({ request: null }, "The redirect's own response is the result")));
    case "task.willBeginDelayedRequest": return requestForm(facts, data.request, "Send", (request, isNew) => send(isNew ? { disposition: "useNewRequest", request } : { disposition: "continueLoading" }, "The request is sent"),
      button("Cancel the task", () => send({ disposition: "cancel" }, "The task is being cancelled"), "danger"));
    case "dataTask.didReceiveResponse": return [facts, h("div", { cls: "actions" },
      button("Allow", () => send({ disposition: "allow" }, "The response is accepted"), "primary"),
      button("Convert to a download", () => send({ disposition: "becomeDownload" }, "The task becomes a download")),
      button("Cancel the task", () => send({ disposition: "cancel" }, "The task is being cancelled"), "danger"))];
    case "dataTask.willCacheResponse": return [facts, h("div", { cls: "actions" },
      button("Store", () => send({ storagePolicy: "allowed" }, "The response is stored"), "primary"),
      button("In memory only", () => send({ storagePolicy: "allowedInMemoryOnly" }, "The response is stored in memory")),
      button("Do not store", () => send({ storagePolicy: "notAllowed" }, "The response is not stored")))];
    default: return [facts, h("p", null, "A client must send the body with PUT /v1/tasks/{id}/body. This page cannot.")];
  }
}

function requestForm(facts, request, verb, send, ...others) {
  const url = h("input", { name: "url", type: "url", required: true, value: request.url, spellcheck: "false" });
  const form = h("form", null, facts, field(`${request.method ?? "GET"} to`, url, "You may change the URL."), h("div", { cls: "actions" }, h("button", { cls: "primary" }, verb), others));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const isNew = url.value !== request.url;
    // The service keeps secret fields only for the request that it proposed itself.
    const body = { url: url.value, method: request.method, headers: request.headers };
    try { await send(body, isNew); } catch (error) { toast(error.message, "bad"); }
  });
  return form;
}
