// Verification of webhook messages (Standard Webhooks 1.0.0), and replies that answer decisions.
import {createHmac, createPublicKey, timingSafeEqual, verify} from 'node:crypto';
import {WebhookVerificationError} from './errors.js';
import type {DecisionAnswer, WebhookMessage} from './models.js';

/** Header fields, as `fetch` or `node:http` has them. */
export type HeaderFields = Headers | Record<string, string | string[] | undefined>;

/** The reply to send to the service. */
export interface WebhookReply {
  status: number;
  headers: Record<string, string>;
  body: string;
}

type Check = (given: string, signed: Uint8Array) => boolean;

/**
 * Verifies messages with the secrets (`whsec_…`) or public keys (`whpk_…`) of a webhook. Pass the new and the previous
 * one after a rotation.
 */
export class Webhook {
  readonly #checks: Check[];
  readonly #tolerance: number;
  readonly #now: () => number;

  /** `tolerance` is the largest difference between the time of a message and `now`, in seconds; 300 by default. */
  constructor(keys: string | string[], options: {tolerance?: number; now?: () => number} = {}) {
    const all = typeof keys === 'string' ? [keys] : keys;
    if (all.length === 0) throw new TypeError('keys: a webhook needs a secret (whsec_…) or a public key (whpk_…)');
    this.#checks = all.map(checkOf);
    this.#tolerance = options.tolerance ?? 300;
    this.#now = options.now ?? (() => Date.now() / 1000);
  }

  /**
   * Return the message, or throw `WebhookVerificationError`. `body` is the body as it was received: a parsed and written
   * body has another signature.
   */
  verify(headers: HeaderFields, body: Uint8Array | string): WebhookMessage {
    const [id, timestamp, given] = ['id', 'timestamp', 'signature'].map(name => field(headers, `webhook-${name}`)) as [string, string, string];
    if (!/^[0-9]{1,15}$/.test(timestamp)) throw new WebhookVerificationError('webhook-timestamp is not a number of seconds');
    if (!(Math.abs(this.#now() - Number(timestamp)) <= this.#tolerance)) {
      throw new WebhookVerificationError('webhook-timestamp is too old, or in the future');
    }
    const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
    const head = new TextEncoder().encode(`${id}.${timestamp}.`);
    const signed = new Uint8Array(head.length + bytes.length);
    signed.set(head);
    signed.set(bytes, head.length);
    // Every signature is compared with every key, so that the duration does not depend on the position of a match.
    const results = given.split(' ').flatMap(each => this.#checks.map(check => check(each, signed)));
    if (!results.includes(true)) throw new WebhookVerificationError('no signature in webhook-signature is valid for this webhook');
    try {
      return JSON.parse(new TextDecoder().decode(bytes)) as WebhookMessage;
    } catch (error) {
      throw new WebhookVerificationError('the body is not JSON', {cause: error});
    }
  }

  /**
   * Verify a message and return the reply to it.
   *
   * The handler's result is the answer to the decision of a message with `data.decisionId`. With undefined, the service
   * decides later. An invalid message gets 401 and does not reach the handler. If the handler throws, the caller must
   * reply 500, so that the service sends the message again.
   */
  async respond(headers: HeaderFields, body: Uint8Array | string,
    handler: (message: WebhookMessage) => DecisionAnswer | undefined | void | Promise<DecisionAnswer | undefined | void>): Promise<WebhookReply> {
    let message: WebhookMessage;
    try {
      message = this.verify(headers, body);
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      return {status: 401, headers: {'Content-Type': 'text/plain'}, body: `${error.message}\n`};
    }
    const answer = await handler(message);
    if (!answer) return {status: 204, headers: {}, body: ''};
    return {status: 200, headers: {'Content-Type': 'application/json'}, body: JSON.stringify(answer)};
  }
}

function field(headers: HeaderFields, name: string): string {
  const value = headers instanceof Headers ? headers.get(name)
    : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value !== 'string') throw new WebhookVerificationError(`the header field ${name} is missing`);
  return value;
}

function decode(text: string): Uint8Array {
  const isBase64 = text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
  return Buffer.from(isBase64 ? text : '', 'base64');
}

/** A function that compares one signature with this key. */
function checkOf(key: string): Check {
  if (key.startsWith('whsec_')) {
    const secret = decode(key.slice(6));
    if (secret.length === 0) throw new TypeError('keys: the secret is not whsec_ and base64');
    return (given, signed) => {
      const expected = Buffer.from(`v1,${createHmac('sha256', secret).update(signed).digest('base64')}`);
      const actual = Buffer.from(given);
      return actual.length === expected.length && timingSafeEqual(actual, expected);
    };
  }
  if (!key.startsWith('whpk_')) throw new TypeError('keys: a key begins with whsec_ or whpk_');
  const bytes = decode(key.slice(5));
  if (bytes.length !== 32) throw new TypeError('keys: the public key is not whpk_ and the base64 of 32 bytes');
  const x = Buffer.from(key.slice(5), 'base64').toString('base64url');
  const publicKey = createPublicKey({key: {kty: 'OKP', crv: 'Ed25519', x}, format: 'jwk'});
  return (given, signed) => given.startsWith('v1a,') && verify(null, signed, publicKey, decode(given.slice(4)));
}
