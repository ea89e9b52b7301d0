// Event streams: the parser of server-sent events, and a stream that reconnects.
import {ProblemError, UnreachableError} from './errors.js';
import type {Event} from './models.js';
import {sleep} from './transport.js';
import type {ContentReply} from './transport.js';

const LONGEST_DELAY = 30;

export interface ServerSentEvent {
  type: string;
  data: string;
  /** The id of this event, or of the last one that had an id. */
  id: string;
}

/** Parses `text/event-stream` that arrives in parts of any size (WHATWG HTML, section 9.2). */
export class EventParser {
  /** The delay before a reconnection in seconds, if the service sent one. */
  retry: number | undefined;
  // The decoder removes a byte order mark at the beginning, and keeps characters that are cut in two.
  readonly #decoder = new TextDecoder();
  #rest = '';
  #endsWithReturn = false;
  #type = '';
  #id = '';
  #data: string[] = [];

  /** Return the events that this part completes. */
  feed(part: Uint8Array): ServerSentEvent[] {
    let text = this.#decoder.decode(part, {stream: true});
    // If a line ended with the part before this one, a line feed is the second half of its end.
    if (this.#endsWithReturn && text.startsWith('\n')) text = text.slice(1);
    else if (text === '') return [];
    this.#endsWithReturn = text.endsWith('\r');
    const lines = (this.#rest + text).split(/\r\n|\n|\r/);
    this.#rest = lines.pop() ?? '';
    return lines.flatMap(line => this.#line(line));
  }

  #line(line: string): ServerSentEvent[] {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'event') this.#type = value;
    else if (name === 'data') this.#data.push(value);
    else if (name === 'id' && !value.includes('\0')) this.#id = value;
    else if (name === 'retry' && /^[0-9]+$/.test(value)) this.retry = Number(value) / 1000;
    return [];
  }

  #dispatch(): ServerSentEvent[] {
    const event = {type: this.#type || 'message', data: this.#data.join('\n'), id: this.#id};
    const isEmpty = this.#data.length === 0;
    this.#type = '';
    this.#data = [];
    return isEmpty ? [] : [event];
  }
}

/**
 * The events of a session, a task or all sessions. Iterate over it with `for await`; leaving the loop closes it.
 *
 * The stream has every stored event since `open`. If the connection is lost, the stream reconnects and the service
 * replays the missed events. If they have expired, the next event is `events.didReset`: read the state of your tasks
 * again. Progress events are not replayed.
 */
export class EventStream implements AsyncIterable<Event> {
  /** The id of the last event that was read. */
  lastEventId: string | undefined;
  readonly #position: () => Promise<string>;
  readonly #connect: (last: string, signal: AbortSignal) => Promise<ContentReply>;
  readonly #onDisconnect: ((error: unknown) => void) | undefined;
  readonly #closing = new AbortController();
  #reply: ContentReply | undefined;

  constructor(position: () => Promise<string>, connect: (last: string, signal: AbortSignal) => Promise<ContentReply>,
    options: {signal?: AbortSignal; onDisconnect?: (error: unknown) => void}) {
    this.#position = position;
    this.#connect = connect;
    this.#onDisconnect = options.onDisconnect;
    if (options.signal?.aborted) this.close();
    else options.signal?.addEventListener('abort', () => this.close(), {once: true});
  }

  /** Connect. Await this before the requests whose events you need. Iterating connects too. */
  async open(): Promise<this> {
    this.lastEventId ??= await this.#position();
    this.#reply ??= await this.#connect(this.lastEventId, this.#closing.signal);
    return this;
  }

  /** End the stream. A loop that waits for an event ends. */
  close(): void {
    this.#closing.abort();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event> {
    const {signal} = this.#closing;
    let parser = new EventParser();
    let delay = 2;
    let failures = 0;
    try {
      if (!signal.aborted) await this.open();
      while (!signal.aborted) {
        let found: ServerSentEvent[] = [];
        try {
          if (!this.#reply) {
            parser = new EventParser();
            this.#reply = await this.#connect(this.lastEventId ?? '', signal);
          }
          const part = await this.#reply.readSome();
          if (!part) throw new UnreachableError('the service ended the stream');
          failures = 0;
          found = parser.feed(part);
          delay = parser.retry ?? delay;
        } catch (error) {
          this.#reply?.close();
          this.#reply = undefined;
          if (signal.aborted) return;
          const isTemporary = error instanceof UnreachableError ||
            error instanceof ProblemError && (error.status >= 500 || error.status === 408 || error.status === 429);
          if (!isTemporary) throw error;
          this.#onDisconnect?.(error);
          await sleep((0.5 + Math.random() / 2) * Math.min(delay * 2 ** failures++, LONGEST_DELAY), signal);
        }
        for (const each of found) {
          if (each.id !== '') this.lastEventId = each.id;
          yield JSON.parse(each.data) as Event;
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#reply?.close();
      this.close();
    }
  }
}
