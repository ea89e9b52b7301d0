package import TransferCore
package import TransferModel

// MARK: Tasks

extension TenantView {
  package func createTasks(
    _ specifications: [TaskSpecification], in id: SessionID,
    reply: @Sendable ([TransferTask]) -> IdempotentReply? = { _ in nil }
  ) async throws(ServiceError) -> [TransferTask] {
    try await service.createTasks(specifications, in: session(id).id, reply: reply)
  }

  /// Fills in what only the service knows of a task that is to be created in one of the tenant's sessions: what its resume data leaves
  /// open, and what the store has of the file that it sends.
  package func complete(
    _ specification: inout TaskSpecification, in session: TransferSession
  ) async throws {
    try await service.completeResumed(&specification, of: tenant)
    try await service.complete(&specification.request, in: session)
  }

  /// A task's specification from the tenant's resume data; nil where it is none.
  package func specification(resuming data: String) -> TaskSpecification? {
    service.specification(resuming: data, of: tenant)
  }

  package func task(_ id: TaskID) async throws(ServiceError) -> TransferTask {
    try await service.task(id, of: tenant)
  }

  package func tasks(_ query: TaskQuery) async throws(ServiceError) -> [TransferTask] {
    var query = query
    query.session = try session(query.session).id
    return try await service.tasks(query)
  }

  package func metrics(of id: TaskID) async throws(ServiceError) -> [UInt8]? {
    try await service.metrics(of: task(id).id)
  }

  /// Returns once the task's end is committed, when `seconds` have passed, or when the service is about to stop.
  package func waitPatientlyForEnd(of id: TaskID, seconds: Double) async throws(ServiceError) {
    try await service.check(id, of: tenant)
    await service.waitPatientlyForEnd(of: id, seconds: seconds)
  }

  package func resume(_ id: TaskID) async throws(ServiceError) -> TransferTask {
    try await service.check(id, of: tenant)
    return try await service.resume(id)
  }

  package func suspend(_ id: TaskID) async throws(ServiceError) -> TransferTask {
    try await service.check(id, of: tenant)
    return try await service.suspend(id)
  }

  package func cancel(_ id: TaskID) async throws(ServiceError) -> TransferTask {
    try await service.check(id, of: tenant)
    return try await service.cancel(id)
  }

  package func cancelProducingResumeData(
    _ id: TaskID
  ) async throws(ServiceError) -> (task: TransferTask, resumeData: String?) {
    try await service.check(id, of: tenant)
    return try await service.cancelProducingResumeData(id)
  }

  package func patch(
    _ id: TaskID, _ patch: TaskPatch, if isExpected: @escaping @Sendable (TransferTask) -> Bool
  ) async throws(ServiceError) -> TransferTask {
    try await service.check(id, of: tenant)
    return try await service.patch(id, patch, if: isExpected)
  }

  package func resumeData(of id: TaskID) async throws(ServiceError) -> String? {
    try await service.resumeData(of: task(id))
  }
}

// MARK: Bodies

extension TenantView {
  package func body(of id: TaskID) async throws(ServiceError) -> BodyContent {
    try await service.body(of: task(id))
  }

  /// The bytes of a finished task's small body; nil where it has none, or none any more.
  package func smallBody(of id: TaskID) async throws(ServiceError) -> [UInt8]? {
    try await service.smallBody(of: task(id))
  }

  package func deleteBody(of id: TaskID) async throws(ServiceError) {
    try await service.deleteBody(of: task(id))
  }

  package func openUpload(of id: TaskID, length: Int64?) async throws(ServiceError) -> BodyUpload {
    try await service.check(id, of: tenant)
    return try await service.openUpload(of: id, length: length)
  }
}

// MARK: Files

extension TenantView {
  package func receiveFile() throws(ServiceError) -> FileReception { try service.receiveFile() }

  package func finish(
    _ reception: FileReception, contentType: String?
  ) async throws(ServiceError) -> StoredFile {
    try await service.finish(reception, of: tenant, contentType: contentType)
  }

  package func keep(
    _ file: StoredFile, reply: @Sendable (StoredFile) -> IdempotentReply?
  ) async throws(ServiceError) -> StoredFile {
    try await service.keep(file, reply: reply)
  }

  /// Forgets a file that was not kept.
  package func drop(_ file: StoredFile) { service.drop(file) }

  package func keepBody(
    of id: TaskID, reply: @Sendable (StoredFile) -> IdempotentReply?
  ) async throws(ServiceError) -> StoredFile {
    try await service.keepBody(of: task(id), for: tenant, reply: reply)
  }

  package func file(_ id: FileID) async throws(ServiceError) -> StoredFile {
    try await service.file(id, of: tenant)
  }

  package func files(after: FileID?, limit: Int) async throws(ServiceError) -> [StoredFile] {
    try await service.files(of: tenant, after: after, limit: limit)
  }

  /// One range of a file's bytes.
  package func open(_ file: StoredFile) throws(ServiceError) -> @Sendable (Range<Int64>) -> BodyStream {
    try service.open(file)
  }

  package func deleteFile(_ id: FileID) async throws(ServiceError) {
    try await service.delete(service.file(id, of: tenant))
  }
}

// MARK: Events

extension TenantView {
  /// Of all the tenant's sessions.
  package func events(_ wish: EventWish) async throws(ServiceError) -> EventSubscription {
    try await service.subscribe(.tenant(tenant), of: nil, wish)
  }

  package func events(
    ofSession id: SessionID, _ wish: EventWish
  ) async throws(ServiceError) -> EventSubscription {
    let id = try session(id).id
    return try await service.subscribe(.session(id), of: id, wish)
  }

  package func events(ofTask id: TaskID, _ wish: EventWish) async throws(ServiceError) -> EventSubscription {
    try await service.subscribe(.task(id), of: task(id).sessionID, wish)
  }
}
