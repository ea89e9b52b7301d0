// The one event stream of the page. EventSource cannot send a token, so the stream is read with fetch and parsed here.

import { raw, failure } from "./api.js";

/** Parses server-sent events (HTML standard, section 9.2.6). */
export class EventParser {
  #rest = "";
  #id;
  #data = [];

  constructor(id = "") { this.#id = id; }
  get lastID() { return this.#id; }

  /** Adds text and returns the events that are complete. */
  add(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    const events = [];
    for (let line of lines) {
      if (line.endsWith("\r")) line = line.slice(0, -1);
      if (line === "") {
        if (this.#data.length) events.push(this.#data.join("\n"));
        this.#data = [];
        continue;
      }
      const colon = line.indexOf(":");
      if (colon === 0) continue;
      const name = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (name === "data") this.#data.push(value);
      else if (name === "id") this.#id = value;
    }
    return events;
  }
}

const silence = 40_000; // The service sends a comment every 15 s.

/** Reads events until `stop` is called, and connects again with Last-Event-ID after each failure. */
export class EventStream {
  #parser = new EventParser();
  #abort = new AbortController();
  #wake;

  constructor(onEvent, onState) {
    this.onEvent = onEvent;
    this.onState = onState;
    this.#run();
  }

  stop() {
    this.#abort.abort();
    this.#wake?.();
  }

  /** Ends the wait for the next attempt. */
  retryNow() { this.#wake?.(); }

  async #run() {
    let failures = 0;
    while (!this.#abort.signal.aborted) {
      const attempt = new AbortController();
      const stopAttempt = () => attempt.abort();
      this.#abort.signal.addEventListener("abort", stopAttempt);
      let watchdog;
      const alive = () => {
        clearTimeout(watchdog);
        watchdog = setTimeout(stopAttempt, silence);
      };
      let problem;
      try {
        alive();
        const last = this.#parser.lastID;
        const reply = await raw("v1/events", {
          signal: attempt.signal,
          headers: { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) },
        });
        if (!reply.ok) throw await failure(reply);
        this.onState({ state: "live", resumed: last !== "", again: failures > 0 });
        failures = 0;
        const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
        for (;;) {
          const { value, done } = await reader.read();
          if (done) break;
          alive();
          for (const text of this.#parser.add(value)) this.onEvent(JSON.parse(text));
        }
      } catch (error) { problem = error; } finally {
        clearTimeout(watchdog);
        this.#abort.signal.removeEventListener("abort", stopAttempt);
      }
      if (this.#abort.signal.aborted) return;
      // An unfinished event is sent again.
      this.#parser = new EventParser(this.#parser.lastID);
      failures += 1;
      const wait = Math.min(1000 * 2 ** (failures - 1), 15_000);
      this.onState({ state: problem?.status === 401 ? "unauthorized" : "disconnected", wait, problem });
      await new Promise((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, problem?.status === 401 ? 3_600_000 : wait);
      });
    }
  }
}
