// Downloads the URLs of a list, one a line, to a directory, and shows the progress.
// usage: run mirror_list LIST DIRECTORY
import {mkdir, readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {Client, ProblemError} from 'ferry-client';

const [list, directory] = process.argv.slice(2);
if (!list || !directory) {
  console.error('usage: run mirror_list LIST DIRECTORY');
  process.exit(2);
}

function fail(message: string) {
  console.error(message);
  process.exitCode = 1;
}

async function mirror(list: string, directory: string) {
  const urls = (await readFile(list, 'utf8')).split(/\s+/).filter(line => line);
  const names = urls.map(url => url.replace(/[?#].*/, '').replace(/^[^:]*:\/\/[^/]*\/?/, '').split('/').pop() ?? '')
    .map(name => ['', '.', '..'].includes(name) ? 'index.html' : name);
  const twice = names.filter((name, at) => names.indexOf(name) !== at);
  if (twice.length > 0) return fail(`mirror_list: several URLs have these names: ${twice.join(', ')}`);
  await mkdir(directory, {recursive: true});

  const client = new Client();
  const group = `mirror-${crypto.randomUUID()}`;
  const results = await client.createTasks(urls.map((url, at) => ({
    kind: 'download' as const, resume: true, failOnStatus: true, retry: {maximumAttempts: 5}, group,
    labels: {file: names[at] ?? ''}, request: {url}})));
  results.forEach((result, at) => result instanceof ProblemError && fail(`${urls[at]}: ${result.message}`));
  if (results.every(result => result instanceof ProblemError)) return;

  for (let found = await client.closeGroup(group); ; found = await client.getGroup(group, {wait: 1})) {
    const {succeeded, failed, cancelled, ...rest} = found.tasks;
    const ended = succeeded + failed + cancelled;
    console.log(`${ended} of ${ended + rest.suspended + rest.running + rest.canceling} files, ${found.countOfBytesReceived} bytes`);
    if (found.state === 'completed') break;
  }
  for await (const task of client.iterateAllTasks({group})) {
    if (task.error) fail(`${task.originalRequest.url}: ${task.error.message}`);
    else await client.saveBody(task.id, join(directory, task.labels?.file ?? task.id));
  }
}

await mirror(list, directory).catch(error => fail(`mirror_list: ${error.message}`));
