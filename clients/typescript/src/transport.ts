// Requests to the service: retries, and content that is streamed both ways.
import {createHash, randomUUID} from 'node:crypto';
import {open, rename, rm} from 'node:fs/promises';
import {basename, dirname, join} from 'node:path';
import {DigestError, FerryError, ProblemError, UnreachableError} from './errors.js';
import {EventStream} from './events.js';
import type {EventPage} from './models.js';

/** Text, bytes, or parts. A function that returns the parts can be called again after a lost connection. */
export type Content = string | Uint8Array | Blob | AsyncIterable<Uint8Array> | (() => AsyncIterable<Uint8Array>);

export interface ClientOptions {
  /** The URL of the service. By default, `FERRY_SERVER` of the environment, or http://127.0.0.1:8080. */
  server?: string;
  /** The bearer token. By default, `FERRY_TOKEN` of the environment. */
  token?: string;
  /** The seconds without a byte after which a request fails, 30 by default. Waiting for a task comes on top. */
  timeout?: number;
  /** The seconds without a byte after which an event stream reconnects, 45 by default. The service sends a comment every 15. */
  heartbeatTimeout?: number;
  /** Sends requests in place of the global `fetch`, for example through a proxy. */
  fetch?: typeof fetch;
}

export interface Request {
  method: string;
  path: string;
  query?: Record<string, unknown>;
  fields?: Record<string, string | undefined>;
  body?: unknown;
  content?: Content;
  contentType?: string;
  wait?: number;
  key?: string;
  accept?: string;
  /** The seconds without a byte of content after which a reply breaks off, if they differ from the client's timeout. */
  idle?: number;
  retries?: number;
  signal?: AbortSignal;
}

const RETRIES = 3;
const LONGEST_DELAY = 60;

/** A key that identifies a request, so that it can be repeated safely. */
export function newKey(): string {
  return randomUUID();
}

/** The items of pages that `read` returns by their cursor. */
export async function* pages<T>(read: (cursor?: string) => Promise<{items: T[]; nextCursor: string | null}>): AsyncGenerator<T> {
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    for (const item of page.items) yield item;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

export function sleep(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, seconds * 1000);
    function done() {
      signal?.removeEventListener('abort', stop);
      resolve();
    }
    function stop() {
      clearTimeout(timer);
      reject(signal?.reason);
    }
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, {once: true});
  });
}

/** The content of a file or body, which arrives in parts. Iterate over it, read it, or save it. */
export class ContentReply implements AsyncIterable<Uint8Array> {
  readonly status: number;
  readonly headers: Headers;
  readonly #response: Response;
  readonly #idle: IdleTimer;

  constructor(response: Response, idle: IdleTimer) {
    this.status = response.status;
    this.headers = response.headers;
    this.#response = response;
    this.#idle = idle;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256');
    let size = 0;
    try {
      for (;;) {
        const part = await this.readSome();
        if (!part) break;
        size += part.length;
        hash.update(part);
        yield part;
      }
    } finally {
      this.close();
    }
    const length = this.headers.get('Content-Length');
    if (length !== null && Number(length) !== size) throw new UnreachableError(`the content broke off after ${size} of ${length} bytes`);
    const expected = this.headers.get('Repr-Digest') ?? '';
    const actual = `sha-256=:${hash.digest('base64')}:`;
    if (this.status === 200 && expected.startsWith('sha-256=') && expected !== actual) {
      throw new DigestError(`the content has the digest ${actual}, and Repr-Digest is ${expected}`);
    }
  }

  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  /** The bytes that have arrived, at least one, or undefined at the end. */
  async readSome(): Promise<Uint8Array | undefined> {
    this.#reader ??= this.#response.body?.getReader();
    this.#idle.start();
    try {
      return (await this.#reader?.read())?.value;
    } catch (error) {
      throw this.#idle.error('the content broke off', error);
    } finally {
      this.#idle.stop();
    }
  }

  async bytes(): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for await (const part of this) parts.push(part);
    const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
    let offset = 0;
    for (const part of parts) {
      all.set(part, offset);
      offset += part.length;
    }
    return all;
  }

  async text(): Promise<string> {
    return new TextDecoder().decode(await this.bytes());
  }

  /** Write the content to a file. The file appears only when all of it has arrived and its digest is right. */
  async save(path: string): Promise<void> {
    const part = join(dirname(path), `.${basename(path)}.${randomUUID().slice(0, 8)}.part`);
    try {
      const file = await open(part, 'wx');
      try {
        await file.writeFile(this);
      } finally {
        await file.close();
      }
      await rename(part, path);
    } catch (error) {
      this.close();
      await rm(part, {force: true});
      throw error;
    }
  }

  /** Give up the rest of the content. */
  close(): void {
    this.#idle.close();
  }
}

/** Aborts a request that receives nothing for some time, or whose caller aborts it. */
class IdleTimer {
  readonly #controller = new AbortController();
  readonly #abort = () => this.#controller.abort(this.caller?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #expired: number | undefined;

  constructor(readonly seconds: number, readonly caller: AbortSignal | undefined) {
    if (caller?.aborted) this.#abort();
    else caller?.addEventListener('abort', this.#abort, {once: true});
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  start(seconds = this.seconds): void {
    this.#timer = setTimeout(() => {
      this.#expired = seconds;
      this.#controller.abort();
    }, seconds * 1000);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  close(): void {
    this.stop();
    this.caller?.removeEventListener('abort', this.#abort);
    this.#controller.abort();
  }

  /** The error to throw: that of the caller's signal, or one that names the cause. */
  error(message: string, cause: unknown): unknown {
    if (this.caller?.aborted) return this.caller.reason;
    const reason = this.#expired !== undefined ? `no byte for ${this.#expired} s` : describe(cause);
    return new UnreachableError(`${message}: ${reason}`, {cause});
  }
}

function describe(error: unknown): string {
  const inner = error instanceof Error ? (error as {cause?: unknown}).cause : undefined;
  const code = inner && typeof inner === 'object' && 'code' in inner ? ` (${String((inner as {code: unknown}).code)})` : '';
  return String(error) + code;
}

/** Sends requests. */
export abstract class Transport {
  readonly server: string;
  readonly timeout: number;
  readonly heartbeatTimeout: number;
  readonly #token: string | undefined;
  readonly #fetch: typeof fetch;

  constructor(options: ClientOptions = {}) {
    const server = options.server ?? (process.env.FERRY_SERVER || 'http://127.0.0.1:8080');
    let url: URL;
    try {
      url = new URL(server);
    } catch {
      throw new TypeError('server: the text is not a URL; use http://host:port');
    }
    if (!/^https?:$/.test(url.protocol) || url.search || url.hash) {
      throw new TypeError(`server: ${url.origin} is not the URL of a service; use http://host:port`);
    }
    if (url.username || url.password) throw new TypeError('server: the URL has a user; pass the token as `token`, or set FERRY_TOKEN');
    this.server = url.origin + url.pathname.replace(/\/+$/, '');
    this.timeout = options.timeout ?? 30;
    this.heartbeatTimeout = options.heartbeatTimeout ?? 45;
    this.#token = options.token ?? (process.env.FERRY_TOKEN || undefined);
    this.#fetch = options.fetch ?? fetch;
  }

  /** Send a request, and repeat it after failures if the service carries a repeat out at most once. */
  protected async send(request: Request): Promise<ContentReply> {
    const {content} = request;
    const repeats = (request.method === 'GET' || request.key !== undefined) &&
      (content === undefined || typeof content === 'string' || typeof content === 'function' || content instanceof Uint8Array ||
        content instanceof Blob);
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#attempt(request);
      } catch (error) {
        const delay = delayBefore(error, attempt);
        if (!repeats || delay === undefined || attempt === (request.retries ?? RETRIES)) throw error;
        await sleep(delay, request.signal);
      }
    }
  }

  async #attempt(request: Request): Promise<ContentReply> {
    const headers = new Headers({'Accept': request.accept ?? 'application/json', 'Accept-Encoding': 'identity'});
    for (const [name, value] of Object.entries(request.fields ?? {})) if (value !== undefined) headers.set(name, value);
    if (this.#token !== undefined) headers.set('Authorization', `Bearer ${this.#token}`);
    if (request.wait !== undefined) headers.set('Prefer', `wait=${Math.ceil(request.wait)}`);
    if (request.key !== undefined) headers.set('Idempotency-Key', request.key);
    let body: unknown = typeof request.content === 'function' ? request.content() : request.content;
    if (request.body !== undefined) {
      body = JSON.stringify(request.body);
      headers.set('Content-Type', 'application/json');
    } else if (body !== undefined) {
      headers.set('Content-Type', request.contentType ?? 'application/octet-stream');
    }
    const idle = new IdleTimer(request.idle ?? this.timeout, request.signal);
    // An upload may last as long as it makes progress, which `fetch` does not show.
    if (typeof body !== 'object') idle.start(this.timeout + (request.wait ?? 0));
    let response: Response;
    try {
      const init = {method: request.method, headers, body, signal: idle.signal, redirect: 'manual', duplex: 'half'};
      response = await this.#fetch(this.server + request.path + queryOf(request.query ?? {}), init as RequestInit);
      idle.stop();
      if (response.status >= 300) throw await ProblemError.of(response);
    } catch (error) {
      idle.close();
      throw error instanceof FerryError ? error : idle.error(`${request.method} ${this.server}`, error);
    }
    return new ContentReply(response, idle);
  }

  protected async json<T>(request: Request): Promise<T> {
    const reply = await this.send(request);
    const text = await reply.text();
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      throw new FerryError(`${request.method} ${request.path}: the reply is not JSON; is ${this.server} a Ferry service?`, {cause: error});
    }
  }

  protected async text(request: Request): Promise<string> {
    return (await this.send({accept: '*/*', ...request})).text();
  }

  protected async nothing(request: Request): Promise<void> {
    await (await this.send(request)).bytes();
  }

  protected content(request: Request): Promise<ContentReply> {
    return this.send({accept: 'application/octet-stream, */*;q=0.9', ...request});
  }

  protected events(path: string, query: Record<string, unknown> & {after?: number}, options: {
    signal?: AbortSignal; onDisconnect?: (error: unknown) => void
  }): EventStream {
    const {after, ...rest} = query;
    const position = async () => after !== undefined ? String(after)
      : (await this.json<EventPage>({method: 'GET', path, query: {limit: 1}, signal: options.signal})).nextAfter;
    // The stream itself repeats a failed connection.
    const connect = (last: string, signal: AbortSignal) => this.send({
      method: 'GET', path, query: rest, fields: {'Last-Event-ID': last}, accept: 'text/event-stream',
      idle: this.heartbeatTimeout, retries: 0, signal});
    return new EventStream(position, connect, options);
  }
}

function queryOf(members: Record<string, unknown>): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) {
    for (const each of Array.isArray(value) ? value : [value]) if (each !== undefined && each !== null) pairs.append(name, String(each));
  }
  const text = pairs.toString();
  return text && `?${text}`;
}

/** The seconds before a repeat, or undefined if a repeat fails too. */
function delayBefore(error: unknown, attempt: number): number | undefined {
  if (error instanceof ProblemError) {
    if (![429, 502, 503, 504].includes(error.status) && error.problem !== 'idempotency-in-progress') return undefined;
    if (error.retryAfter !== undefined) return error.retryAfter <= LONGEST_DELAY ? error.retryAfter : undefined;
  } else if (!(error instanceof UnreachableError)) {
    return undefined;
  }
  return (0.5 + Math.random() / 2) * 0.2 * 4 ** attempt;
}
