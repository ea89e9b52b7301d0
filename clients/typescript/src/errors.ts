// The errors of the client. All of them are a FerryError.
import type {FieldError, Task, TaskError} from './models.js';

/** The base of all errors of this package. */
export class FerryError extends Error {
  constructor(message: string, options?: {cause?: unknown}) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The service cannot be reached, or its reply broke off. */
export class UnreachableError extends FerryError {}

/** The service refused a request (RFC 9457). */
export class ProblemError extends FerryError {
  readonly status: number;
  /** The path of the problem's page, such as `/problems/not-found`. */
  readonly type: string;
  readonly title: string;
  readonly detail: string | undefined;
  /** Each field at fault, with its JSON pointer. */
  readonly errors: FieldError[];
  /** The line of a batch. */
  readonly line: number | undefined;
  /** The seconds until a repeat makes sense. */
  readonly retryAfter: number | undefined;
  readonly requestId: string | undefined;

  constructor(problem: {
    status: number; type?: string; title?: string; detail?: string; errors?: FieldError[]; line?: number;
  }, fields?: Headers) {
    const title = problem.title ?? 'the reply is not a problem document';
    const errors = problem.errors ?? [];
    super([`${problem.status} ${title}${problem.detail ? `: ${problem.detail}` : ''}`,
      ...errors.map(each => `${each.pointer}: ${each.detail}`)].join('; '));
    this.status = problem.status;
    this.type = problem.type ?? 'about:blank';
    this.title = title;
    this.detail = problem.detail;
    this.errors = errors;
    this.line = problem.line;
    const delay = fields?.get('Retry-After') ?? '';
    this.retryAfter = /^[0-9]+$/.test(delay) ? Number(delay) : undefined;
    this.requestId = fields?.get('Request-Id') ?? undefined;
  }

  /** The last part of `type`, such as `not-found`. */
  get problem(): string {
    return this.type.slice(this.type.lastIndexOf('/') + 1);
  }

  static async of(response: Response): Promise<ProblemError> {
    const members: unknown = await response.json().catch(() => undefined);
    const found = members && typeof members === 'object' && !Array.isArray(members) ? members : {};
    return new ProblemError({...found, status: response.status}, response.headers);
  }
}

/** A task ended with an error. `error.name` and `error.code` are Apple's, or those of `FerryErrorDomain`. */
export class TaskFailedError extends FerryError {
  constructor(readonly task: Task, readonly error: TaskError) {
    super(`${task.id}: ${error.name} (${error.code}): ${error.message}`);
  }
}

/** The task has not ended in time. `task` is its last state. */
export class WaitTimeoutError extends FerryError {
  constructor(readonly task: Task) {
    super(`${task.id} has not ended: ${task.phase ?? task.state}`);
  }
}

/** Content arrived that differs from its `Repr-Digest`. */
export class DigestError extends FerryError {}

/** A message is not the service's, or too old. */
export class WebhookVerificationError extends FerryError {}

/** Return the task, or throw `TaskFailedError` if it ended with an error. */
export function throwForError(task: Task): Task {
  if (task.error) throw new TaskFailedError(task, task.error);
  return task;
}
