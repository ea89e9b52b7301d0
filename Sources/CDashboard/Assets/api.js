// Requests to the service. All addresses are relative to the page, so the dashboard works under a path prefix.

let token = "";
const listeners = new Set();

export const hasToken = () => token !== "";

/** Keeps the token in memory only. A reload of the page loses it. */
export function setToken(text) {
  token = text.trim();
  for (const listener of listeners) listener();
}

export const onToken = (listener) => listeners.add(listener);

/** A problem of the service, or a failed connection (status 0). */
export class APIError extends Error {
  constructor(status, problem) {
    const fields = (problem.errors ?? []).map((error) => `${error.pointer || "body"} ${error.detail}`);
    super([problem.detail ?? (fields.length ? null : problem.title), ...fields].filter(Boolean).join("; "));
    this.status = status;
    this.problem = problem;
  }
}

export const address = (path) => new URL(path.replace(/^\//, ""), document.baseURI).href;

/** Sends a request and returns the reply, whatever its status. */
export async function raw(path, options = {}) {
  const headers = new Headers(options.headers);
  if (token) headers.set("Authorization", `Bearer ${token}`);
  try {
    return await fetch(address(path), { ...options, headers, cache: "no-store", credentials: "omit", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new APIError(0, { title: "The service does not reply. Check that it runs, and try again." });
  }
}

export async function failure(reply) {
  let problem = {};
  try { problem = await reply.json(); } catch { /* The reply is not from the service. */ }
  return new APIError(reply.status, { title: `The service replied ${reply.status}`, ...problem });
}

/** Sends a request and returns the JSON of the reply. */
export async function call(method, path, body, options = {}) {
  const headers = { Accept: "application/json", ...options.headers };
  if (body !== undefined) headers["Content-Type"] = options.type ?? "application/json";
  const reply = await raw(path, {
    method, headers, signal: options.signal,
    body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
  });
  if (!reply.ok) throw await failure(reply);
  return reply.status === 204 ? null : options.text ? reply.text() : reply.json();
}

export const get = (path, options) => call("GET", path, undefined, options);
export const post = (path, body, options) => call("POST", path, body, options);

/** Returns the query of the members that have a value. */
export function query(members) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) {
    if (value != null && value !== "") parameters.append(name, value);
  }
  const text = parameters.toString();
  return text ? `?${text}` : "";
}

/** Reads pages of a list until `most` items were read. */
export async function all(path, members = {}, most = 1000) {
  const items = [];
  let cursor;
  do {
    const page = await get(path + query({ limit: Math.min(500, most), ...members, cursor }));
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor && items.length < most);
  return items;
}
