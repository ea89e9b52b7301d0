// Sends a file to a URL with PUT. Ferry repeats the upload if the connection fails.
// usage: run upload_file FILE URL
import {Client, throwForError} from 'ferry-client';

const [path, url] = process.argv.slice(2);
if (!path || !url) {
  console.error('usage: run upload_file FILE URL');
  process.exit(2);
}

async function upload(path: string, url: string) {
  const client = new Client();
  const stored = await client.createFileFromPath(path);
  try {
    const task = await client.createSharedTask({
      kind: 'upload', resume: true, failOnStatus: true, retry: {maximumAttempts: 5},
      request: {url, method: 'PUT', body: {file: stored.id}},
    });
    throwForError(await client.wait(task.id));
    console.log(`${stored.size} bytes sent`);
  } finally {
    await client.deleteFile(stored.id);
  }
}

await upload(path, url).catch(error => {
  console.error(`upload_file: ${error.message}`);
  process.exitCode = 1;
});
