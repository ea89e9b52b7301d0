// Words for tasks: states, errors and what to do about them.

import { h } from "./dom.js";
import * as format from "./format.js";

/** The outcome of a task that ended with an error, or with null. */
export function outcome(error) {
  if (!error) return "succeeded";
  return error.code === -999 && error.domain === "NSURLErrorDomain" ? "cancelled" : "failed";
}

/** One word for the state of a task, and its style. */
export function status(task) {
  if (task.state === "completed") return task.outcome ?? (task.error ? "failed" : "succeeded");
  if (task.state === "running") return { waitingForDecision: "needs decision", waitingToRetry: "retrying", waitingForConnectivity: "offline", queued: "queued" }[task.phase] ?? "running";
  return task.state;
}

const styles = {
  succeeded: "good", failed: "bad", cancelled: "dim", suspended: "dim", canceling: "dim", queued: "dim", running: "busy",
  "needs decision": "wait", retrying: "wait", offline: "wait",
};

export function pill(word) {
  return h("span", { cls: `pill ${styles[word] ?? "dim"}` }, word);
}

/** Bytes that a task has moved, and those that it expects; -1 if unknown. */
export function amounts(progress, kind) {
  const up = kind === "upload" && (progress.countOfBytesReceived ?? 0) === 0;
  return up ? [progress.countOfBytesSent, progress.countOfBytesExpectedToSend]
    : [progress.countOfBytesReceived, progress.countOfBytesExpectedToReceive];
}

export function bar(done, total, word, label) {
  const known = total > 0;
  const share = word === "succeeded" ? 1 : known ? Math.min(1, done / total) : 0;
  const inner = h("span", { style: { width: `${share * 100}%` } });
  return h("span", {
    cls: `progress ${styles[word] ?? "dim"}${!known && word === "running" ? " endless" : ""}`, role: "progressbar",
    "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 100,
    "aria-valuenow": known || word === "succeeded" ? Math.round(share * 100) : null,
  }, inner);
}

const advice = {
  timedOut: "The origin sent nothing for too long. Retry, or raise timeoutInterval of the request or timeoutIntervalForResource of the session.",
  cannotFindHost: "The name of the host does not resolve. Check its spelling and the DNS of the service's machine.",
  dnsLookupFailed: "The DNS server did not answer. Check the DNS of the service's machine, and retry.",
  cannotConnectToHost: "The origin refused the connection or does not listen on this port. Check the port, and that the origin runs.",
  networkConnectionLost: "The connection broke during the transfer. Retry: a download continues from its bytes if the origin allows it.",
  notConnectedToInternet: "The service's machine has no route to the origin. Check its network, or use waitsForConnectivity.",
  httpTooManyRedirects: "The origin redirected too often. Run curl -sIL on the URL to see the chain.",
  badServerResponse: "The origin's response was not usable. Its status and header fields below say more.",
  userCancelledAuthentication: "The challenge was cancelled. Retry, and answer it with credentials.",
  userAuthenticationRequired: "The origin wants credentials. Store them in the session, or let the session ask (taskChallenges).",
  appTransportSecurityRequiresSecureConnection: "A redirect led from https to http. Set allowsInsecureRedirects in the session if that is intended.",
  secureConnectionFailed: "The TLS handshake failed. Compare the TLS versions and ciphers of origin and session.",
  serverCertificateHasBadDate: "The origin's certificate has expired. Its operator must renew it.",
  serverCertificateNotYetValid: "The origin's certificate is not valid yet. Check the clock of the service's machine.",
  serverCertificateUntrusted: "The certificate does not match the host or a pin. Check tlsPinnedPublicKeys, or let the session ask (sessionChallenges).",
  serverCertificateHasUnknownRoot: "No known certificate authority signed the certificate. Add it to tlsAdditionalRootCertificates, or let the session ask (sessionChallenges).",
  clientCertificateRequired: "The origin wants a client certificate. Store one in the session, or let the session ask.",
  clientCertificateRejected: "The origin refused the client certificate. Use another one.",
  cannotDecodeContentData: "The body's Content-Encoding is broken. Retry with Accept-Encoding: identity.",
  cannotParseResponse: "The origin did not speak HTTP. Check the scheme and the port of the URL.",
  dataNotAllowed: "No permitted network reaches the origin. Check allowsCellularAccess, allowsExpensiveNetworkAccess and allowsConstrainedNetworkAccess.",
  unsupportedURL: "Only http and https URLs can be fetched.",
  badURL: "The URL is malformed. Correct it, and add the task again.",
  destinationNotPermitted: "The egress policy forbids this address. If it is intended, start the service with --allow-network for its network.",
  quotaExceeded: "The memory for ephemeral sessions is full. Invalidate one, or raise --maximum-ephemeral-bytes.",
  bodyTooLarge: "The body exceeds --maximum-body-size of the service.",
  attemptLimitReached: "All attempts were used. Look at the last error, correct its cause, and retry.",
  contentMismatch: "The body is not the expected one. Compare the expected size and SHA-256 digest with those of the publisher.",
  destinationFailed: "The file could not be written to its destination. Check the directory, its owner and the free space.",
  httpStatus: "The origin responded with an error status. The response below may say why.",
  cancelled: "The task was cancelled. Retry to run it again.",
};

const statusAdvice = {
  401: "The origin wants credentials: add an Authorization field, or let the session ask (taskChallenges).",
  403: "The origin forbids this. A signed link may have expired: replace it, and retry.",
  404: "The origin does not have this resource. Check the URL.",
  410: "The origin has removed this resource for good.",
  416: "The kept bytes do not fit the resource. Retry from the beginning.",
  429: "The origin limits the rate. Use fewer connections per host, or retry with a longer backoff.",
};

/** What to do about an error. */
export function remedy(error) {
  if (error.name === "httpStatus" || error.name === "badServerResponse") {
    const status = error.status;
    if (statusAdvice[status]) return statusAdvice[status];
    if (status >= 500) return "The origin itself failed. Retry later, or create the task with retry.";
  }
  return advice[error.name] ?? "Retry. If it fails again, the underlying error and the log of the service say more.";
}

/** One line about the state of a task that is not obvious. */
export function reason(task) {
  if (task.error) return task.error.message;
  if (task.phase === "waitingToRetry" && task.lastError) {
    return `retry ${(task.retryCount ?? 0) + 1} ${format.ago(task.nextAttemptAt)}: ${task.lastError.message}`;
  }
  if (task.state === "suspended" && task.earliestBeginDate) return `starts ${format.ago(task.earliestBeginDate)}`;
  return "";
}
