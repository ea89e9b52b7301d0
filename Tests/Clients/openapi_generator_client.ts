// Drives Ferry with the client that openapi-generator generates from openapi.yaml for TypeScript and fetch.
//
// usage: openapi_generator_client.js SERVICE ORIGIN
import * as ferry from './ferry_client';

declare const process: {argv: string[], exitCode: number};

function expect(is: boolean, what: unknown) {
  if (!is) throw new Error(JSON.stringify(what));
}

async function drive(service: string, origin: string) {
  const configuration = new ferry.Configuration({basePath: service});
  const sessions = new ferry.SessionsApi(configuration), tasks = new ferry.TasksApi(configuration);

  const session = await sessions.createSession({sessionCreation: {description: 'generated'}});
  expect((await sessions.getSession({session: session.id})).description === 'generated', session);

  const task = await tasks.createTask({
    session: session.id, prefer: 'wait=20', taskCreation: {kind: ferry.TaskKind.Download, resume: true, request: {url: origin}},
  });
  expect(task.state === ferry.TaskState.Completed && task.response?.status === 200, task);
  const body = await new ferry.BodiesApi(configuration).getBody({task: task.id});
  expect(body.size === task.body?.size && body.size > 0, task.body);
  expect((await tasks.getMetrics({task: task.id})).transactionMetrics.length === 1, task);
  expect(task.createdAt instanceof Date && task.createdAt.getTime() > 0, task.createdAt);

  try {
    await sessions.deleteSession({session: session.id});
    expect(false, 'a session that is not invalid was deleted');
  } catch (refusal) {
    expect(refusal instanceof ferry.ResponseError && refusal.response.status === 409, refusal);
  }
  await sessions.invalidateSession({session: session.id, invalidation: {mode: 'cancelTasks'}});
  await sessions.deleteSession({session: session.id});
  console.log('driven');
}

drive(process.argv[2], process.argv[3]).catch(error => {
  console.error(error);
  process.exitCode = 1;
});
