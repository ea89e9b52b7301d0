// Drives a service with the TypeScript client.
// usage: node service_test.mjs ORIGIN, with FERRY_SERVER in the environment, ferry-client installed, and /file at the origin
import assert from 'node:assert/strict';
import {mkdtemp, readFile, rm} from 'node:fs/promises';
import {createServer} from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import * as ferry from 'ferry-client';

const origin = process.argv[2];
const content = 'for the clients';
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const client = new ferry.Client();
const folder = await mkdtemp(join(tmpdir(), 'ferry-client-'));
const path = join(folder, 'file');
const messages = [];
let webhook = new ferry.Webhook(secret);
const bytes = text => new TextEncoder().encode(text);

// Stores each message, and answers redirects.
const receiver = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const reply = await webhook.respond(request.headers, Buffer.concat(chunks), message => {
    messages.push(message);
    if (message.type === 'task.willPerformHTTPRedirection') return {request: null};
  });
  response.writeHead(reply.status, reply.headers).end(reply.body);
});
await new Promise(resolve => receiver.listen(0, '127.0.0.1', resolve));
const hook = `http://127.0.0.1:${receiver.address().port}/`;

async function until(found) {
  const end = Date.now() + 20_000;
  while (!found()) {
    assert.ok(Date.now() < end, JSON.stringify(messages));
    await new Promise(resolve => setTimeout(resolve, 10));
  }
}

// A download, its events and its file.
const events = await client.streamEvents().open();
let task = await client.download(`${origin}/file`, path, {timeout: 20});
assert.deepEqual([await readFile(path, 'utf8'), task.body.size], [content, content.length]);
for await (const event of events) {
  assert.equal(event.taskId, task.id);
  if (event.type === 'task.didComplete') break;
}
assert.equal((await client.listTaskEvents(task.id, {after: 0})).items.at(-1).type, 'task.didComplete');
await assert.rejects(client.download(`${origin}/missing`, path), error => error instanceof ferry.TaskFailedError && error.error.name === 'httpStatus');
assert.equal(await readFile(path, 'utf8'), content);

// Files: from text, bytes, parts, a path and a task.
async function* parts() {
  yield bytes(content.slice(0, 5));
  yield bytes(content.slice(5));
}
const files = [await client.createFileFromPath(path), await client.createFileFromTask(task.id)];
for (const given of [content, bytes(content), new Blob([content]), parts(), parts]) files.push(await client.createFile(given));
for (const file of files) {
  assert.equal(await (await client.getFile(file.id)).text(), content);
  assert.equal((await client.getFileInfo(file.id)).size, content.length);
}
await client.saveFile(files[0].id, path);
assert.equal(await readFile(path, 'utf8'), content);

// A batch, and pages of all of its tasks.
const group = crypto.randomUUID();
const creations = Array.from({length: 1203}, (_, each) => ({kind: 'data', group, request: {url: each ? `${origin}/file` : 'no'}}));
const results = await client.createTasks(creations);
assert.ok(results[0] instanceof ferry.ProblemError && results[0].errors[0].pointer === '/request/url');
const found = [];
for await (const each of client.iterateAllTasks({group})) found.push(each.id);
assert.ok(found.join() === results.slice(1).map(each => each.id).join());
assert.equal((await client.cancelTasks({group})).changed, 1202);

// A session whose webhook answers decisions.
const session = await client.createSession({delegate: {redirects: 'ask', webhook: {url: hook, secret, answers: true}}});
task = await client.createTask(session.id, {kind: 'data', resume: true, request: {url: `${origin}/redirect`}});
assert.equal(ferry.throwForError(await client.wait(task.id, {timeout: 20})).response.status, 302);
await until(() => messages.some(each => each.type === 'task.didComplete'));
assert.deepEqual([messages[0].data.request.url, messages[0].data.taskId], [`${origin}/file`, task.id]);

// A streamed upload.
const request = {url: `${origin}/echo`, method: 'POST', body: {stream: true}};
const upload = await client.createTask(session.id, {kind: 'upload', resume: true, request});
await client.sendBody(upload.id, (async function* () {
  for (let each = 0; each < 200; each++) yield new Uint8Array(1000).fill(each);
})());
assert.equal(ferry.throwForError(await client.wait(upload.id, {timeout: 20})).response.status, 200);
assert.equal(await (await client.getBody(upload.id)).text(), '200000');

// An endpoint with a public key.
const endpoint = await client.createEndpoint({url: hook, signature: 'v1a'});
webhook = new ferry.Webhook([secret, endpoint.publicKey]);
await client.testEndpoint(endpoint.id);
await until(() => messages.at(-1).type === 'webhook.test');
await client.deleteEndpoint(endpoint.id);

await assert.rejects(client.deleteSession(session.id), error => error.status === 409 && error.problem === 'conflict');
await client.invalidateSession(session.id, {mode: 'cancelTasks'});
await client.deleteSession(session.id);
assert.equal((await client.getVersion()).name, 'ferry');
assert.match(await client.getReadiness(), /^ok/);
receiver.close();
await rm(folder, {recursive: true});
console.log('driven');
