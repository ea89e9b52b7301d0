// Downloads a URL into Ferry, which posts a webhook message when the download has ended.
// usage: [SECRET=whsec_…] run import_url URL WEBHOOK
import {Client, FerryError} from 'ferry-client';

const [url, webhook] = process.argv.slice(2);
if (!url || !webhook) {
  console.error('usage: [SECRET=whsec_…] run import_url URL WEBHOOK');
  process.exit(2);
}
const secret = process.env.SECRET; // without it, the service signs with its own secret
try {
  const task = await new Client().createSharedTask({
    kind: 'download', resume: true, failOnStatus: true, request: {url}, retry: {maximumAttempts: 5},
    completion: {webhook: {url: webhook, ...(secret && {secret})}},
  });
  console.log(task.id);
} catch (error) {
  if (!(error instanceof FerryError)) throw error;
  console.error(`import_url: ${error.message}`);
  process.exitCode = 1;
}
