// The client: all operations, and calls for the common combinations of them.
import {createReadStream} from 'node:fs';
import {ProblemError, throwForError, WaitTimeoutError} from './errors.js';
import type {SessionID, StoredFile, Task, TaskCreation, TaskID} from './models.js';
import {Operations} from './operations.js';
import {newKey} from './transport.js';

const LONGEST_WAIT = 60;
const MOST_LINES = 1000;
const MOST_BYTES = 8 * 1024 * 1024;

/**
 * A client of a Ferry service. Every operation of the contract is a method, and the objects have the names of the
 * contract. A request that fails is repeated if that is safe.
 */
export class Client extends Operations {
  /**
   * Wait until a task has ended, and return it. A suspended task does not end. After `timeout` seconds, `WaitTimeoutError`
   * is thrown. By default, the wait has no limit.
   */
  async wait(task: TaskID, options: {timeout?: number; signal?: AbortSignal} = {}): Promise<Task> {
    const end = performance.now() / 1000 + (options.timeout ?? Infinity);
    for (;;) {
      const rest = Math.max(0, end - performance.now() / 1000);
      const found = await this.getTask(task, {wait: Math.min(LONGEST_WAIT, rest), signal: options.signal});
      if (found.state === 'completed') return found;
      if (performance.now() / 1000 >= end) throw new WaitTimeoutError(found);
    }
  }

  /** Download a URL to a file, and return the task. A status of 400 or more is an error (`TaskFailedError`). */
  async download(url: string, path: string, options: {
    session?: SessionID; timeout?: number; signal?: AbortSignal
  } = {}): Promise<Task> {
    const creation: TaskCreation = {kind: 'download', resume: true, failOnStatus: true, request: {url}};
    const task = await this.createTask(options.session ?? 'ses_shared', creation, {signal: options.signal});
    const ended = throwForError(await this.wait(task.id, options));
    await this.saveBody(ended.id, path, options);
    return ended;
  }

  /** Write the body of a task's response to a file, and check its digest. */
  async saveBody(task: TaskID, path: string, options: {signal?: AbortSignal} = {}): Promise<void> {
    await (await this.getBody(task, {signal: options.signal})).save(path);
  }

  /** Write a stored file to a file, and check its digest. */
  async saveFile(file: string, path: string, options: {signal?: AbortSignal} = {}): Promise<void> {
    await (await this.getFile(file, {signal: options.signal})).save(path);
  }

  /** Store the file at a path in the service, so that tasks can upload it. */
  createFileFromPath(path: string, options: {contentType?: string; signal?: AbortSignal} = {}): Promise<StoredFile> {
    return this.createFile(() => createReadStream(path), options);
  }

  /** Keep the body of a task that has ended as a stored file. */
  createFileFromTask(task: TaskID, options: {idempotencyKey?: string; signal?: AbortSignal} = {}): Promise<StoredFile> {
    return this.json({method: 'POST', path: '/v1/files', body: {fromTask: task}, key: options.idempotencyKey ?? newKey(), signal: options.signal});
  }

  /**
   * Create many tasks, and return a task or a problem for each of them, in the same order. The tasks are created in batches
   * of 1,000. A batch is created as a whole, or not at all.
   */
  async createTasks(creations: Iterable<TaskCreation>, options: {
    session?: SessionID; signal?: AbortSignal
  } = {}): Promise<Array<Task | ProblemError>> {
    const results: Array<Task | ProblemError> = [];
    let lines: string[] = [];
    let size = 0;
    for (const creation of creations) {
      const line = JSON.stringify(creation) + '\n';
      if (lines.length === MOST_LINES || lines.length > 0 && size + line.length > MOST_BYTES) {
        results.push(...await this.#batch(lines, options));
        lines = [];
        size = 0;
      }
      lines.push(line);
      size += line.length;
    }
    return lines.length > 0 ? results.concat(await this.#batch(lines, options)) : results;
  }

  async #batch(lines: string[], options: {session?: SessionID; signal?: AbortSignal}): Promise<Array<Task | ProblemError>> {
    const type = 'application/x-ndjson';
    const reply = await this.send({
      method: 'POST', path: `/v1/sessions/${encodeURIComponent(options.session ?? 'ses_shared')}/tasks`, content: lines.join(''),
      contentType: type, accept: type, key: newKey(), signal: options.signal});
    const text = await reply.text();
    return text.split('\n').filter(line => line !== '').map(line => {
      const found = JSON.parse(line) as Task | ConstructorParameters<typeof ProblemError>[0];
      return 'id' in found ? found : new ProblemError(found);
    });
  }
}
