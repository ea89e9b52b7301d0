// The metrics of a task as a waterfall: one row for each transaction, one bar for each step.

import { h, pairs } from "./dom.js";
import * as format from "./format.js";

const steps = [
  ["dns", "Name", "domainLookupStartDate", "domainLookupEndDate"],
  ["connect", "Connect", "connectStartDate", "connectEndDate"],
  ["tls", "TLS", "secureConnectionStartDate", "secureConnectionEndDate"],
  ["request", "Request", "requestStartDate", "requestEndDate"],
  ["wait", "Wait", "requestEndDate", "responseStartDate"],
  ["response", "Response", "responseStartDate", "responseEndDate"],
];

export function waterfall({ taskInterval, transactionMetrics, redirectCount }) {
  if (!transactionMetrics.length) return h("p", { cls: "dim" }, "No transaction was made.");
  const start = Math.min(...transactionMetrics.map((item) => Date.parse(item.fetchStartDate ?? taskInterval.start)));
  const end = Math.max(...transactionMetrics.map((item) => Date.parse(item.responseEndDate ?? taskInterval.end)), start + 1);
  const share = (time) => ((Date.parse(time) - start) / (end - start)) * 100;
  return h("div", { cls: "waterfall" },
    h("p", { cls: "dim" }, `${format.duration(taskInterval.duration ?? format.between(taskInterval.start, taskInterval.end))} in all`, redirectCount ? `, ${redirectCount} redirects` : ""),
    transactionMetrics.map((item) => h("div", { cls: "transaction" },
      h("p", { cls: "url" }, h("code", null, `${item.response?.status ?? "no response"} ${item.request.method ?? "GET"} ${item.request.url}`)),
      h("div", { cls: "track", "aria-hidden": "true" }, steps.map(([name, , from, to]) => item[from] && item[to] ? h("span", {
        cls: `step ${name}`, style: { left: `${share(item[from])}%`, width: `max(2px, ${share(item[to]) - share(item[from])}%)` },
      }) : null)),
      h("ul", { cls: "legend" }, steps.filter(([, , from, to]) => item[from] && item[to]).map(([name, text, from, to]) =>
        h("li", null, h("i", { cls: `step ${name}`, "aria-hidden": "true" }), `${text} `, h("b", null, format.duration(format.between(item[from], item[to])))))),
      pairs([["Protocol", item.networkProtocolName], ["TLS", item.negotiatedTLSProtocolVersion && `${item.negotiatedTLSProtocolVersion}, ${item.negotiatedTLSCipherSuite}`],
        ["Address", item.remoteAddress && `${item.remoteAddress}:${item.remotePort}`], ["Connection", [item.resourceFetchType === "localCache" ? "from the cache" : item.isReusedConnection ? "reused" : "new", item.isProxyConnection ? "through a proxy" : ""].filter(Boolean).join(", ")],
        ["Received", `${format.bytes(item.countOfResponseHeaderBytesReceived)} fields, ${format.bytes(item.countOfResponseBodyBytesReceived)} body`]]))));
}
