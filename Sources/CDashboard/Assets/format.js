// Text forms of values.

const units = ["B", "kB", "MB", "GB", "TB", "PB"];

export function bytes(count) {
  if (count == null || count < 0) return "–";
  let unit = 0;
  while (count >= 1000 && unit < units.length - 1) { count /= 1000; unit += 1; }
  return `${unit === 0 || count >= 100 ? Math.round(count) : count.toFixed(1)} ${units[unit]}`;
}

export const rate = (perSecond) => `${bytes(perSecond)}/s`;

export const count = (number) => Number(number ?? 0).toLocaleString("en");

export function duration(seconds) {
  if (seconds == null || !isFinite(seconds)) return "–";
  if (seconds < 0.001) return "< 1 ms";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.round((seconds % 86400) / 3600)} h`;
}

/** Seconds between two times; the later one may be missing. */
export const between = (start, end) => (new Date(end ?? Date.now()) - new Date(start)) / 1000;

export function ago(time) {
  if (!time) return "–";
  const seconds = between(time);
  return seconds >= 0 ? `${brief(seconds)} ago` : `in ${brief(-seconds)}`;
}

function brief(seconds) {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

export function time(value) {
  if (!value) return "–";
  const date = new Date(value);
  const day = date.toDateString() === new Date().toDateString() ? "" : `${date.toLocaleDateString("en-CA")} `;
  return day + date.toLocaleTimeString("en-GB") + "." + String(date.getMilliseconds()).padStart(3, "0");
}

/** The end of an id, which is random and suffices to find a task. */
export const short = (id) => (id && id.length > 20 ? id.slice(-8) : id ?? "–");

/** The last part of a URL's path, or the host. */
export function fileName(url) {
  try {
    const parsed = new URL(url);
    const last = parsed.pathname.split("/").filter(Boolean).pop();
    return last ? safelyDecoded(last) : parsed.host;
  } catch { return url; }
}

function safelyDecoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

export function host(url) {
  try { return new URL(url).host; } catch { return ""; }
}
