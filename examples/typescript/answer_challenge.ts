// Downloads a URL to a file, and logs in if the server asks for a user and a password.
// usage: ORIGIN_USER=… ORIGIN_PASSWORD=… run answer_challenge URL FILE
import {Client, throwForError} from 'ferry-client';
import type {ChallengeAnswer, ChallengedData} from 'ferry-client';

const [url, path] = process.argv.slice(2);
const {ORIGIN_USER: user, ORIGIN_PASSWORD: password} = process.env;
if (!url || !path || !user || !password) {
  console.error('usage: ORIGIN_USER=… ORIGIN_PASSWORD=… run answer_challenge URL FILE');
  process.exit(2);
}

/** The answer to one challenge. A password that was refused is not sent again. */
function answer(challenge: ChallengedData): ChallengeAnswer {
  if (challenge.previousFailureCount > 0) return {disposition: 'cancelAuthenticationChallenge'};
  return {disposition: 'useCredential', credential: {user, password}};
}

async function download(url: string, path: string) {
  const client = new Client();
  const session = await client.createSession({delegate: {taskChallenges: 'ask'}});
  const events = await client.streamSessionEvents(session.id, {types: ['task.didReceiveChallenge', 'task.didComplete']}).open();
  const task = await client.createTask(session.id, {kind: 'download', resume: true, failOnStatus: true, request: {url}});
  for await (const event of events) {
    if (event.type === 'task.didComplete') break;
    if (event.type === 'task.didReceiveChallenge' && event.data.decisionId) {
      console.log(`${event.data.protectionSpace.host} asks for a password`);
      await client.answerDecision(event.data.decisionId, answer(event.data));
    }
  }
  throwForError(await client.getTask(task.id));
  await client.saveBody(task.id, path);
  await client.invalidateSession(session.id);
}

await download(url, path).catch(error => {
  console.error(`answer_challenge: ${error.message}`);
  process.exitCode = 1;
});
