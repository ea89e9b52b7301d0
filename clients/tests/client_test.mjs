// Tests of the TypeScript client without a service: signatures, event streams, retries and failures.
// usage: node --test client_test.mjs, with the package ferry-client installed
import assert from 'node:assert/strict';
import {createHash} from 'node:crypto';
import {mkdtemp, readdir, readFile, rm, writeFile} from 'node:fs/promises';
import {createServer} from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {inspect} from 'node:util';
import {describe, test} from 'node:test';
import * as ferry from 'ferry-client';

const read = async name => JSON.parse(await readFile(new URL(name, import.meta.url)));
const done = {id: 'tsk_1', state: 'completed', error: null};
const event = (id, type = 'task.didChangeState') => ({id, type, time: '', sessionId: null, taskId: null, data: {}});
const sse = (...events) => events.map(each => `${each.id ? `id: ${each.id}\n` : ''}data: ${JSON.stringify(each)}\n\n`).join('');
const problem = (status, name, more = {}) => ({type: `/problems/${name}`, title: 'No', status, ...more});

/** A server that sends prepared replies: [status, fields, body], or a function of the request and the reply. */
async function serve(t, replies, options = {}) {
  const seen = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    seen.push({path: request.url, headers: request.headers, body: Buffer.concat(chunks).toString()});
    const reply = replies.shift();
    if (typeof reply === 'function') return reply(request, response);
    const [status, fields, body] = reply;
    response.writeHead(status, fields).end(typeof body === 'object' ? JSON.stringify(body) : body);
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${server.address().port}`;
  return {client: new ferry.Client({server: url, ...options}), seen, url};
}

const hangUp = request => request.socket.destroy();
const stream = (text, closes = true) => (request, response) => {
  response.writeHead(200, {'Content-Type': 'text/event-stream'});
  response.flushHeaders();
  response.write(text);
  if (closes) response.end();
};

describe('shared vectors', async () => {
  for (const vector of await read('webhooks.json')) {
    test(`message: ${vector.name}`, () => {
      const webhook = new ferry.Webhook(vector.keys, {now: () => vector.now});
      const lists = Object.fromEntries(Object.entries(vector.headers).map(([name, value]) => [name.toUpperCase(), value]));
      for (const headers of [vector.headers, lists]) {
        for (const body of [vector.body, new TextEncoder().encode(vector.body)]) {
          if (vector.valid) assert.deepEqual(webhook.verify(headers, body), JSON.parse(vector.body));
          else assert.throws(() => webhook.verify(headers, body), ferry.WebhookVerificationError);
        }
      }
    });
  }

  test('fields of fetch are read', async () => {
    const [vector] = await read('webhooks.json');
    const webhook = new ferry.Webhook(vector.keys, {now: () => vector.now});
    assert.equal(webhook.verify(new Headers(vector.headers), vector.body).type, 'task.didComplete');
  });

  test('wrong keys are refused', () => {
    for (const key of ['', 'secret', 'whsec_', 'whsec_%%', 'whpk_', 'whpk_AAAA', []]) assert.throws(() => new ferry.Webhook(key), TypeError);
  });

  test('replies have the answer', async () => {
    const [vector] = await read('webhooks.json');
    const webhook = new ferry.Webhook(vector.keys, {now: () => vector.now});
    const reply = await webhook.respond(vector.headers, vector.body, async () => ({disposition: 'allow'}));
    assert.deepEqual([reply.status, JSON.parse(reply.body)], [200, {disposition: 'allow'}]);
    assert.equal((await webhook.respond(vector.headers, vector.body, () => undefined)).status, 204);
    assert.equal((await webhook.respond(vector.headers, '{}', () => assert.fail())).status, 401);
  });

  for (const vector of await read('events.json')) {
    test(`event stream in all splits: ${vector.name}`, () => {
      const data = new TextEncoder().encode(vector.text);
      const splits = [[...data].map((_, at) => data.subarray(at, at + 1))];
      for (let at = 0; at <= data.length; at++) {
        splits.push([data.subarray(0, at), data.subarray(at)], [data.subarray(0, at), data.subarray(0, 0), data.subarray(at)]);
      }
      for (const parts of splits) {
        const parser = new ferry.EventParser();
        assert.deepEqual(parts.flatMap(part => parser.feed(part)), vector.events);
        assert.equal(parser.retry, vector.retry);
      }
    });
  }
});

describe('requests', () => {
  test('a creation is repeated with the same key', async t => {
    const {client, seen} = await serve(t, [hangUp, [503, {'Retry-After': '0'}, ''], [201, {}, done]]);
    assert.deepEqual(await client.createSharedTask({kind: 'data'}), done);
    assert.deepEqual([seen.length, new Set(seen.map(each => each.headers['idempotency-key'])).size], [3, 1]);
  });

  test('a given key is used', async t => {
    const {client, seen} = await serve(t, [[201, {}, done]]);
    await client.createSharedTask({kind: 'data'}, {idempotencyKey: 'mine'});
    assert.equal(seen[0].headers['idempotency-key'], 'mine');
  });

  test('a long delay is an error', async t => {
    const {client, seen} = await serve(t, [[429, {'Retry-After': '3600'}, '']]);
    await assert.rejects(client.getTask('tsk_1'), error => error instanceof ferry.ProblemError && error.retryAfter === 3600);
    assert.equal(seen.length, 1);
  });

  test('a creation in progress is repeated', async t => {
    const {client, seen} = await serve(t, [[409, {'Retry-After': '0'}, problem(409, 'idempotency-in-progress')], [201, {}, done]]);
    await client.createSharedTask({kind: 'data'});
    assert.equal(seen.length, 2);
  });

  test('other commands are not repeated', async t => {
    const {client, seen} = await serve(t, [hangUp]);
    await assert.rejects(client.suspendTask('tsk_1'), ferry.UnreachableError);
    assert.equal(seen.length, 1);
  });

  test('streamed content is not repeated, and a function is called again', async t => {
    const busy = [503, {'Retry-After': '0'}, ''];
    const {client, seen} = await serve(t, [busy, busy, [201, {}, {id: 'fil_1'}]]);
    async function* parts() {
      yield new TextEncoder().encode('a');
      yield new TextEncoder().encode('bc');
    }
    await assert.rejects(client.createFile(parts()), ferry.ProblemError);
    await client.createFile(parts);
    assert.deepEqual(seen.map(each => each.body), ['abc', 'abc', 'abc']);
  });

  test('a problem has its fields', async t => {
    const errors = [{pointer: '/request/url', detail: 'bad'}];
    const {client} = await serve(t, [[422, {'Request-Id': 'r1'}, problem(422, 'unprocessable', {detail: 'why', errors})]]);
    await assert.rejects(client.createSharedTask({kind: 'data'}), error => {
      assert.deepEqual([error.status, error.problem, error.title, error.detail, error.errors, error.requestId],
        [422, 'unprocessable', 'No', 'why', errors, 'r1']);
      assert.equal(error.message, '422 No: why; /request/url: bad');
      return error instanceof ferry.ProblemError && error.name === 'ProblemError';
    });
  });

  test('the page of a proxy is a problem', async t => {
    const {client} = await serve(t, [[403, {}, '<html>']]);
    await assert.rejects(client.getTask('tsk_1'), error => error.status === 403 && error.type === 'about:blank');
  });

  test('a redirect is not followed', async t => {
    const {client, seen} = await serve(t, [[302, {Location: 'http://127.0.0.1:1/'}, '']], {token: 'secret-token'});
    await assert.rejects(client.getTask('tsk_1'), ferry.ProblemError);
    assert.equal(seen.length, 1);
  });

  test('the token is only in its field', async t => {
    const {client, seen} = await serve(t, [[404, {}, ''], hangUp], {token: 'secret-token'});
    const texts = [inspect(client, {depth: 9, showHidden: true}), JSON.stringify(client)];
    for (const call of [client.getTask('tsk_1'), client.suspendTask('tsk_1')]) {
      await call.catch(error => texts.push(inspect(error, {depth: 9, showHidden: true})));
    }
    assert.ok(!texts.join().includes('secret-token'), texts.join());
    const {authorization, ...headers} = seen[0].headers;
    assert.equal(authorization, 'Bearer secret-token');
    assert.ok(!JSON.stringify({...seen[0], headers}).includes('secret-token'));
  });

  test('servers are checked', () => {
    for (const server of ['127.0.0.1:8080', 'ftp://a', 'http://user:secret@a', 'http://a/?b', 'http://']) {
      assert.throws(() => new ferry.Client({server}), error => error instanceof TypeError && !error.message.includes('secret'));
    }
  });

  test('a path prefix and segments are encoded', async t => {
    const {url, seen} = await serve(t, [[200, {}, {}]]);
    await new ferry.Client({server: `${url}/ferry/`}).getGroup('a b/ü?');
    assert.equal(seen[0].path, '/ferry/v1/groups/a%20b%2F%C3%BC%3F');
  });

  test('queries have their forms', async t => {
    const {client, seen} = await serve(t, [[200, {}, {items: [], nextCursor: null}], [200, {}, {}]]);
    await client.listAllTasks({label: ['a:1', 'b:2'], neverResumed: true, url: '*iso*'});
    await client.listEvents({types: ['task.didCreate', 'task.didComplete'], wait: 0.2});
    assert.equal(seen[0].path, '/v1/tasks?label=a%3A1&label=b%3A2&url=*iso*&neverResumed=true');
    assert.equal(seen[1].path, '/v1/events?types=task.didCreate%2Ctask.didComplete');
    assert.equal(seen[1].headers.prefer, 'wait=1');
  });

  test('pages are followed', async t => {
    const pages = [{items: [1, 2], nextCursor: 'c'}, {items: [], nextCursor: 'd'}, {items: [3], nextCursor: null}];
    const {client, seen} = await serve(t, pages.map(page => [200, {}, page]));
    const found = [];
    for await (const each of client.iterateSessions({state: 'active'})) found.push(each);
    assert.deepEqual([found, seen[1].path], [[1, 2, 3], '/v1/sessions?limit=500&cursor=c&state=active']);
  });

  test('a wait is repeated until the end', async t => {
    const running = {id: 'tsk_1', state: 'running', phase: 'queued'};
    const {client, seen} = await serve(t, [[200, {}, running], [200, {}, running], [200, {}, done], [200, {}, running]]);
    assert.deepEqual(await client.wait('tsk_1'), done);
    assert.deepEqual(seen.map(each => each.headers.prefer), ['wait=60', 'wait=60', 'wait=60']);
    await assert.rejects(client.wait('tsk_1', {timeout: 0}), error => error.message === 'tsk_1 has not ended: queued');
  });

  test('batches have a thousand lines', async t => {
    const first = Array.from({length: 1000}, (_, line) => `{"id":"${line}"}\n`).join('');
    const {client, seen} = await serve(t, [[200, {}, first], [200, {}, problem(422, 'limit-exceeded', {line: 1})]]);
    const results = await client.createTasks(Array(1001).fill({kind: 'data'}));
    assert.deepEqual(seen.map(each => each.body.split('\n').length - 1), [1000, 1]);
    assert.deepEqual([results[999].id, results[1000].problem, results[1000].line], ['999', 'limit-exceeded', 1]);
  });

  test('the caller aborts a request', async t => {
    const {client} = await serve(t, [() => {}]);
    const controller = new AbortController();
    const call = client.getTask('tsk_1', {signal: controller.signal});
    controller.abort(new RangeError('enough'));
    await assert.rejects(call, RangeError);
  });

  test('a silent service is unreachable', async t => {
    const {client} = await serve(t, [() => {}], {timeout: 0.05});
    await assert.rejects(client.suspendTask('tsk_1'), error => /no byte for 0.05 s/.test(error.message));
  });
});

describe('content', () => {
  const digest = content => ({'Repr-Digest': `sha-256=:${createHash('sha256').update(content).digest('base64')}:`});
  const folder = async t => {
    const path = await mkdtemp(join(tmpdir(), 'ferry-client-'));
    t.after(() => rm(path, {recursive: true}));
    await writeFile(join(path, 'file'), 'previous');
    return path;
  };

  test('content is saved', async t => {
    const {client} = await serve(t, [[200, digest('x'.repeat(200_000)), 'x'.repeat(200_000)]]);
    const path = await folder(t);
    await client.saveBody('tsk_1', join(path, 'file'));
    assert.deepEqual([await readdir(path), await readFile(join(path, 'file'), 'utf8')], [['file'], 'x'.repeat(200_000)]);
  });

  for (const [name, fields, error] of [['digest', digest('other'), ferry.DigestError], ['length', {'Content-Length': '9'}, ferry.UnreachableError]]) {
    test(`content of a wrong ${name} leaves the file`, async t => {
      const broken = (request, response) => {
        response.writeHead(200, fields);
        response.write('content', () => response.destroy());
      };
      const {client} = await serve(t, [name === 'length' ? broken : [200, fields, 'content']]);
      const path = await folder(t);
      await assert.rejects(client.saveBody('tsk_1', join(path, 'file')), error);
      assert.deepEqual([await readdir(path), await readFile(join(path, 'file'), 'utf8')], [['file'], 'previous']);
    });
  }

  test('a range has no digest of its own', async t => {
    const {client, seen} = await serve(t, [[206, digest('whole'), 'wh']]);
    assert.equal(await (await client.getBody('tsk_1', {range: 'bytes=0-1'})).text(), 'wh');
    assert.equal(seen[0].headers.range, 'bytes=0-1');
  });
});

describe('event streams', () => {
  test('missed events are replayed', async t => {
    const {client, seen} = await serve(t, [
      [200, {}, {items: [], nextAfter: '4'}], stream(`retry: 1\n${sse(event(5), event(null))}`), [503, {}, ''],
      stream(sse(event(null, 'events.didReset'), event(9)), false)]);
    const lost = [];
    const events = client.streamEvents({types: ['task.didChangeState'], onDisconnect: error => lost.push(error)});
    const found = [];
    for await (const each of events) if (found.push(each.id) === 4) break;
    assert.deepEqual([found, events.lastEventId], [[5, null, null, 9], '9']);
    assert.deepEqual(seen.map(each => each.headers['last-event-id']), [undefined, '4', '5', '5']);
    assert.deepEqual(lost.map(each => each.constructor), [ferry.UnreachableError, ferry.ProblemError]);
    for await (const _ of events) assert.fail('a closed stream has an event');
  });

  test('a silent stream is opened again', async t => {
    // A busy machine may need several connections before the event arrives in time.
    const replies = [stream('retry: 1\n\n', false), ...Array(50).fill(stream(sse(event(1)), false))];
    const {client} = await serve(t, replies, {heartbeatTimeout: 0.05});
    for await (const each of client.streamTaskEvents('tsk_1', {after: 0})) {
      assert.equal(each.id, 1);
      break;
    }
  });

  test('a refused stream throws', async t => {
    const {client} = await serve(t, [stream('retry: 1\n\n'), [404, {}, '']]);
    await assert.rejects(async () => {
      for await (const _ of client.streamEvents({after: 0})) assert.fail();
    }, ferry.ProblemError);
  });

  test('an error of the callback ends the stream', async t => {
    const {client} = await serve(t, [stream('retry: 1\n\n')]);
    const onDisconnect = () => {
      throw new RangeError('enough');
    };
    await assert.rejects(async () => {
      for await (const _ of client.streamEvents({after: 0, onDisconnect})) assert.fail();
    }, RangeError);
  });

  test('close and abort end a waiting loop', async t => {
    const controller = new AbortController();
    const {client} = await serve(t, [stream(sse(event(1)), false), stream(sse(event(2)), false)]);
    const events = client.streamEvents({after: 0});
    for await (const each of events) setImmediate(() => events.close(), assert.equal(each.id, 1));
    for await (const each of client.streamEvents({after: 0, signal: controller.signal})) {
      assert.equal(each.id, 2);
      setImmediate(() => controller.abort());
    }
  });
});
