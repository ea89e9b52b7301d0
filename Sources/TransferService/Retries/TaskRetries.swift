internal import TransferModel

/// The use case that repeats a task.
struct TaskRetries: Sendable {
  let tasks: Tasks
  let authorization: TenantAuthorization
  let bodies: Bodies

  /// The result of a retry.
  enum Result {
    /// A task that was waiting for its next attempt, which begins now.
    case continued(TransferTask)
    case created(TransferTask)
  }

  /// Starts the next attempt of a waiting task, or repeats a failed or cancelled task as a new one.
  /// - Parameter reply: makes the reply to store for repeated requests with the same Idempotency-Key.
  func retry(
    _ id: TaskID, of tenant: Tenant, reply: @escaping @Sendable (TransferTask) -> IdempotentReply?
  ) async throws(ServiceError) -> Result {
    var task = try await tasks.task(id)
    if task.state == .running || task.state == .canceling {
      guard task.phase == .waitingToRetry else { throw .notRetried(.unfinished(task.state)) }
      task = try await tasks.retryNow(id)
      if task.state != .completed { return .continued(task) }
    }
    let specification = try await specification(repeating: task, of: tenant)
    guard let session = tasks.runtime.session(task.sessionID) else { throw .sessionNotFound }
    let created = try await tasks.create([specification], in: session) { reply($0[0]) }
    return .created(created[0])
  }

  private func specification(
    repeating task: TransferTask, of tenant: Tenant
  ) async throws(ServiceError) -> TaskSpecification {
    guard task.state == .completed else { throw .notRetried(.unfinished(task.state)) }
    if let download = task.downloadTask { throw .notRetried(.becameDownload(download)) }
    guard task.error != nil else { throw .notRetried(.succeeded) }
    guard !task.hasInvalidResumeData else { throw .notRetried(.invalidResumeData) }
    var specification = task.specification
    specification.request = task.requestToRepeat
    specification.resume = true
    (specification.isAwaited, specification.isDiscretionary) = (false, false)
    specification.preferences.retryOf = task.id
    let now = tasks.identifiers.now()
    specification.resumePoint = task.partialExpiresAt ?? now >= now ? task.partial : nil
    specification.request.body = try await body(of: task, tenant)
    specification.received = try await received(by: task)
    try tasks.check(specification.preferences.destination, of: tenant)
    return specification
  }

  /// Returns the outcome of a task whose body arrived but did not become the file of its destination. The new task then only has to place
  /// the body. `nil` if the body is gone.
  private func received(by task: TransferTask) async throws(ServiceError) -> TransferOutcome? {
    guard task.error?.reason == .ferry(.destinationFailed), let body = task.body,
      try await bodies.isKept(body, of: task)
    else { return nil }
    var outcome = TransferOutcome(
      error: nil, currentRequest: task.currentRequest, response: task.response, progress: task.progress,
      transactions: task.metrics?.transactions ?? [], endedAt: tasks.identifiers.now())
    outcome.body = try await bodies.small(of: task).map { .memory($0) } ?? .file
    (outcome.blob, outcome.size, outcome.sha256) = (body.blob, body.size, body.sha256)
    return outcome
  }

  /// Returns the request's body. The file of a large body is deleted with its task, so the new task gets a copy of the bytes.
  private func body(of task: TransferTask, _ tenant: Tenant) async throws(ServiceError) -> RequestContent? {
    let session = tasks.runtime.session(task.sessionID)
    guard let body = task.requestToRepeat.body else { return nil }
    switch body {
    case .stream: throw .notRetried(.streamedBody)
    case .data:
      // The bodies of an invalid session are deleted.
      guard session?.state != .invalid else { throw .sessionInvalid }
      return body
    case .file(let file, _):
      do throws(ServiceError) { _ = try await authorization.file(file, of: tenant) } catch .fileNotFound {
        throw .notRetried(.bodyDeleted)
      }
      return body
    case .spooled(let spooled):
      guard let bytes = try await tasks.spool.read(spooled, of: task) else { throw .notRetried(.bodyDeleted) }
      return .data(bytes)
    }
  }
}
