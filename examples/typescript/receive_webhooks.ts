// Receives webhook messages, prints them, and answers challenges, redirects and responses as a delegate.
// usage: SECRET=whsec_… ORIGIN_USER=… ORIGIN_PASSWORD=… run receive_webhooks PORT
import {createServer} from 'node:http';
import {Webhook} from 'ferry-client';
import type {DecisionAnswer, WebhookMessage} from 'ferry-client';

const {SECRET: secret, ORIGIN_USER: user, ORIGIN_PASSWORD: password} = process.env;
const port = Number(process.argv[2]);
if (!secret || !port) {
  console.error('usage: SECRET=whsec_… ORIGIN_USER=… ORIGIN_PASSWORD=… run receive_webhooks PORT');
  process.exit(2);
}
const webhook = new Webhook(secret);

/** The answer, if the message is a decision. */
function handle(message: WebhookMessage): DecisionAnswer | undefined {
  console.log(message.type, message.data.taskId);
  switch (message.type) {
    case 'task.didReceiveChallenge':
      if (message.data.previousFailureCount > 0) return {disposition: 'cancelAuthenticationChallenge'};
      return {disposition: 'useCredential', credential: {user, password}};
    case 'task.willPerformHTTPRedirection': { // redirects to other hosts are not followed
      const {response, request} = message.data;
      return {request: new URL(response.url).hostname === new URL(request.url).hostname ? request : null};
    }
    case 'dataTask.didReceiveResponse':
      return {disposition: message.data.response.mimeType === 'application/zip' ? 'becomeDownload' : 'allow'};
    default:
      return undefined;
  }
}

const server = createServer(async (request, response) => {
  try {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const reply = await webhook.respond(request.headers, new Uint8Array(await new Blob(chunks).arrayBuffer()), handle);
    response.writeHead(reply.status, reply.headers).end(reply.body);
  } catch (error) {
    console.error(error); // the service sends the message again
    response.writeHead(500).end();
  }
});
server.listen(port, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${port}`));
