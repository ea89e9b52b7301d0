package import TransferCore
package import TransferModel

// MARK: Tasks

extension TenantView {
  /// - Parameter session: as returned by `session(_:)`.
  package func createTasks(
    _ specifications: [TaskSpecification], in session: TransferSession,
    reply: @escaping @Sendable ([TransferTask]) -> IdempotentReply? = { _ in nil }
  ) async throws(ServiceError) -> [TransferTask] {
    guard session.tenant == tenant else { throw .sessionNotFound }
    return try await service.tasks.create(specifications, in: session, reply: reply)
  }

  /// Completes a new task's specification with the body of the upload that its resume data name, and with the size and type of
  /// its stored file. Refuses a destination outside the tenant's directories.
  package func complete(
    _ specification: inout TaskSpecification, in session: TransferSession
  ) async throws {
    try await service.resumeData.complete(&specification, of: tenant)
    try await service.files.complete(&specification.request, in: session)
    try service.tasks.check(specification.preferences.destination, of: tenant)
  }

  /// - Returns: the task's specification from the tenant's resume data, or `nil` if the data are not valid.
  package func specification(resuming data: String) -> TaskSpecification? {
    service.resumeData.specification(from: data, of: tenant)
  }

  package func task(_ id: TaskID) async throws(ServiceError) -> TransferTask {
    try await service.authorization.task(id, of: tenant)
  }

  /// - Parameters:
  ///   - session: the session of the tasks, or `nil` for all sessions of the tenant.
  ///   - last: the highest wanted id, or `nil` for no bound.
  ///   - inMemoryOnly: whether only the tasks of ephemeral sessions of this service are wanted.
  package func tasks(
    of session: SessionID?, _ filter: TaskFilter, after: TaskID? = nil, order: ListOrder,
    last: TaskID? = nil, limit: Int, inMemoryOnly: Bool = false
  ) async throws(ServiceError) -> TaskPage {
    let scope: TaskQuery.Scope =
      if let session { .session(try self.session(session).id) } else { .tenant(tenant) }
    var query = TaskQuery(scope, of: tenant, filter, after: after, order: order, limit: limit)
    (query.last, query.isOfMemory) = (last, inMemoryOnly)
    return try await service.lists.page(query)
  }

  package func deleteTask(_ id: TaskID) async throws(ServiceError) {
    try await service.deletion.delete(task(id))
  }

  package func metrics(of id: TaskID) async throws(ServiceError) -> [UInt8]? {
    try await service.tasks.metrics(of: task(id).id)
  }

  /// Waits until the task's end is committed, `seconds` have passed, or the service begins to stop.
  /// - Returns: the task in its state at that time.
  package func waitPatientlyForEnd(of id: TaskID, seconds: Double) async throws(ServiceError) -> TransferTask
  {
    try await service.authorization.check(id, of: tenant)
    if let task = await service.tasks.waitForEnd(of: id, seconds: seconds, isPatient: true) { return task }
    return try await task(id)
  }

  package func resume(_ id: TaskID) async throws(ServiceError) -> TransferTask {
    try await service.authorization.check(id, of: tenant)
    return try await service.tasks.resume(id)
  }

  package func suspend(_ id: TaskID) async throws(ServiceError) -> TransferTask {
    try await service.authorization.check(id, of: tenant)
    return try await service.tasks.suspend(id)
  }

  package func cancel(_ id: TaskID) async throws(ServiceError) -> TransferTask {
    try await service.authorization.check(id, of: tenant)
    return try await service.tasks.cancel(id)
  }

  /// Repeats a failed or cancelled task as a new one, or starts the next attempt of a waiting task.
  /// - Returns: the task, and whether it is new.
  package func retry(
    _ id: TaskID, reply: @escaping @Sendable (TransferTask) -> IdempotentReply?
  ) async throws(ServiceError) -> (task: TransferTask, isNew: Bool) {
    try await service.authorization.check(id, of: tenant)
    let retries = TaskRetries(
      tasks: service.tasks, authorization: service.authorization, bodies: service.bodies)
    switch try await retries.retry(id, of: tenant, reply: reply) {
    case .continued(let task): return (task, false)
    case .created(let task): return (task, true)
    }
  }

  package func cancelProducingResumeData(
    _ id: TaskID
  ) async throws(ServiceError) -> (task: TransferTask, resumeData: String?) {
    try await service.authorization.check(id, of: tenant)
    return try await service.resumeData.cancel(id)
  }

  package func patch(
    _ id: TaskID, _ patch: TaskPatch, _ request: RequestPatch? = nil,
    if isExpected: @escaping @Sendable (TransferTask) -> Bool
  ) async throws(ServiceError) -> TransferTask {
    try await service.authorization.check(id, of: tenant)
    return try await service.tasks.patch(id, patch, request, if: isExpected)
  }

  package func resumeData(of id: TaskID) async throws(ServiceError) -> String? {
    try await service.resumeData.resumeData(of: task(id))
  }
}

// MARK: Groups

extension TenantView {
  package func group(_ name: String) async throws(ServiceError) -> CountedGroup {
    try await service.groups.group(TaskGroupKey(tenant: tenant, name: name))
  }

  /// Returns the counts of the tenant's tasks, without those of ephemeral sessions of other services.
  package func taskCounts() async throws(ServiceError) -> GroupCounts {
    try await service.groups.counts(ofTenant: tenant)
  }

  package func groups(
    after: TaskGroup?, order: ListOrder, limit: Int
  ) async throws(ServiceError) -> [CountedGroup] {
    try await service.groups.page(of: tenant, after: after, order: order, limit: limit)
  }

  /// Returns those of the groups that accept no new tasks.
  package func closedGroups(among names: [String]) async throws(ServiceError) -> [String] {
    try await service.groups.closed(among: names, of: tenant)
  }

  package func closeGroup(_ name: String) async throws(ServiceError) -> CountedGroup {
    try await service.groups.close(
      TaskGroupKey(tenant: tenant, name: name), at: service.identifiers.now())
  }

  /// Waits until all tasks of the group have ended, `seconds` have passed, or the service begins to stop.
  package func waitForEnd(ofGroup name: String, seconds: Double) async throws(ServiceError) -> CountedGroup {
    try await service.groups.waitForEnd(of: TaskGroupKey(tenant: tenant, name: name), seconds: seconds)
  }
}

// MARK: Bodies

extension TenantView {
  package func body(of id: TaskID) async throws(ServiceError) -> BodyContent {
    try await service.bodies.body(of: task(id))
  }

  /// - Returns: the bytes of a finished task's small body, or `nil` if there is no such body, or it was deleted.
  package func smallBody(of id: TaskID) async throws(ServiceError) -> [UInt8]? {
    try await service.bodies.small(of: task(id))
  }

  package func deleteBody(of id: TaskID) async throws(ServiceError) {
    try await service.bodies.delete(of: task(id))
  }

  package func openUpload(of id: TaskID, length: Int64?) async throws(ServiceError) -> BodyUpload {
    try await service.authorization.check(id, of: tenant)
    return try await service.bodies.openUpload(of: id, length: length)
  }
}

// MARK: Files

extension TenantView {
  package func receiveFile() throws(ServiceError) -> FileUpload { try service.files.receive() }

  package func finish(
    _ reception: FileUpload, contentType: String?
  ) async throws(ServiceError) -> StoredFile {
    try await service.files.finish(reception, of: tenant, contentType: contentType)
  }

  package func keep(
    _ file: StoredFile, reply: @Sendable (StoredFile) -> IdempotentReply?
  ) async throws(ServiceError) -> StoredFile {
    try await service.files.keep(file, reply: reply)
  }

  /// Deletes a received file that was not kept.
  package func drop(_ file: StoredFile) { service.files.discard(file) }

  package func keepBody(
    of id: TaskID, reply: @Sendable (StoredFile) -> IdempotentReply?
  ) async throws(ServiceError) -> StoredFile {
    try await service.files.keepBody(of: task(id), for: tenant, reply: reply)
  }

  package func file(_ id: FileID) async throws(ServiceError) -> StoredFile {
    try await service.authorization.file(id, of: tenant)
  }

  package func files(
    after: FileID?, order: ListOrder, limit: Int
  ) async throws(ServiceError) -> [StoredFile] {
    try await service.files.page(of: tenant, after: after, order: order, limit: limit)
  }

  /// Returns a function that streams a range of the file's bytes.
  package func open(_ file: StoredFile) async throws(ServiceError) -> @Sendable (Range<Int64>) -> BodyStream {
    try await service.files.open(file)
  }

  package func deleteFile(_ id: FileID) async throws(ServiceError) {
    try await service.files.delete(service.authorization.file(id, of: tenant))
  }
}

// MARK: Events

extension TenantView {
  /// Returns a page of stored events.
  /// - Parameters:
  ///   - session: the session of the events, if they are of one session or of one task.
  ///   - seconds: how long to wait for the first event.
  package func events(
    ofSession session: SessionID? = nil, ofTask task: TaskID? = nil, _ filter: EventFilter, limit: Int,
    waiting seconds: Double?
  ) async throws(ServiceError) -> EventPage {
    if let task {
      return try await service.eventPages.page(
        .task(task), of: self.task(task).sessionID, filter, limit: limit, waiting: seconds)
    }
    let id = try session.map { id throws(ServiceError) in try self.session(id).id }
    return try await service.eventPages.page(
      id.map { .session($0) } ?? .tenant(tenant), of: id, filter, limit: limit, waiting: seconds)
  }

  /// Opens a stream of the events of all the tenant's sessions.
  package func events(_ filter: EventFilter) async throws(ServiceError) -> EventSubscription {
    try await service.streams.subscribe(.tenant(tenant), of: nil, filter)
  }

  package func events(
    ofSession id: SessionID, _ filter: EventFilter
  ) async throws(ServiceError) -> EventSubscription {
    let id = try session(id).id
    return try await service.streams.subscribe(.session(id), of: id, filter)
  }

  package func events(ofTask id: TaskID, _ filter: EventFilter) async throws(ServiceError)
    -> EventSubscription
  {
    try await service.streams.subscribe(.task(id), of: task(id).sessionID, filter)
  }
}
