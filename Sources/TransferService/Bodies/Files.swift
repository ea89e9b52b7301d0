internal import BlobStore
internal import EngineAPI
internal import EventLoop
internal import HTTPFields
internal import JSON
internal import Ledger
internal import TransferModel

/// A file that is being received. A slow disk slows the client.
package struct FileUpload: Sendable {
  let id: FileID
  let body: BlobWriter

  /// Appends bytes, and returns when there is room for more.
  package func write(_ bytes: [UInt8]) async {
    guard body.append(bytes) > BlobWriter.highWater else { return }
    await withCheckedContinuation { continuation in body.whenDrained { continuation.resume() } }
  }

  package func discard() { body.discard() }
}

/// Use cases of stored files.
struct Files: Sendable {
  let blobs: any BlobStore
  let bodies: Bodies
  let authorization: TenantAuthorization

  private var recorder: ChangeRecorder { bodies.runtime.recorder }
  private var pool: ThreadPool { bodies.runtime.pool }
  private var identifiers: IdentifierSource { bodies.tasks.identifiers }

  func receive() throws(ServiceError) -> FileUpload {
    if let refusal = recorder.store.refusal { throw .store(refusal) }
    return reception(of: identifiers.make())
  }

  private func reception(of id: FileID) -> FileUpload {
    // The stamp lets the next start delete the draft of an earlier owner.
    let draft = BlobKey(.file(id), .draft, bodies.runtime.stamp)
    return FileUpload(id: id, body: BlobWriter(draft, in: blobs, on: pool))
  }

  /// Makes a received file durable. `keep` then publishes it.
  func finish(
    _ reception: FileUpload, of tenant: Tenant, contentType: String?
  ) async throws(ServiceError) -> StoredFile {
    let (size, sha256) = try await finish(reception.body, as: reception.id)
    return StoredFile(
      id: reception.id, tenant: tenant, createdAt: identifiers.now(), size: size, sha256: sha256,
      contentType: contentType,
      fromTask: nil)
  }

  private func finish(_ body: BlobWriter, as id: FileID) async throws(ServiceError) -> (
    size: Int64, sha256: String
  ) {
    let finished = await withCheckedContinuation { continuation in
      body.finish(as: BlobKey(id)) { continuation.resume(returning: $0) }
    }
    do throws(BlobError) { return try finished.get() } catch { throw .blob(error) }
  }

  /// - Parameter reply: makes the reply that is stored under the Idempotency-Key.
  func keep(
    _ file: StoredFile, reply: @Sendable (StoredFile) -> IdempotentReply? = { _ in nil }
  ) async throws(ServiceError) -> StoredFile {
    var change = LedgerChange()
    change.newFiles = [file]
    change.answer(reply(file))
    try await recorder.write(change)
    return file
  }

  /// Deletes a received file that was not kept.
  func discard(_ file: StoredFile) { blobs.startDeleting([BlobKey(file.id)]) }

  /// Moves a finished task's body to a stored file.
  func keepBody(
    of task: TransferTask, for tenant: Tenant, reply: @Sendable (StoredFile) -> IdempotentReply?
  ) async throws(ServiceError) -> StoredFile {
    let (key, source) = (task.bodyKey, bodies.blobs(of: task.sessionID))
    var task = task
    guard task.state == .completed else { throw .bodyNotReady(task.state) }
    guard let body = task.body, try await bodies.isKept(body, of: task) else {
      throw .bodyNotFound(bodies.absence(of: task))
    }
    if let placed = body.placed { throw .bodyIsPlaced(placed.file) }
    let file = StoredFile(
      id: identifiers.make(), tenant: tenant, createdAt: identifiers.now(), size: body.size,
      sha256: body.sha256,
      contentType: task.response?.headers.contentType, fromTask: task.id)
    if let bytes = try await bodies.small(of: task) {
      try await writeFile(bytes, file.id)
    } else {
      try await move(task, to: file.id)
    }
    task.body = nil
    var change = LedgerChange()
    change.newFiles = [file]
    change.answer(reply(file))
    if source.isDurable { change.updatedTasks = [task] }
    do throws(ServiceError) {
      try await recorder.write(change)
    } catch {
      await blobs.delete([BlobKey(file.id)], on: pool)
      throw error
    }
    if !source.isDurable { await forgetBody(of: task) }
    await source.delete([key], on: pool)
    return file
  }

  /// Records the move in a separate change: the file is durable, but an ephemeral session's task is only in memory.
  private func forgetBody(of task: TransferTask) async {
    var change = LedgerChange()
    change.owner = task.sessionID
    change.updatedTasks = [task]
    let moved = change
    await withCheckedContinuation { continuation in recorder.record(moved) { _ in continuation.resume() } }
  }

  private func move(_ task: TransferTask, to file: FileID) async throws(ServiceError) {
    let source = bodies.blobs(of: task.sessionID)
    guard source.isDurable else {
      guard let reader = try await bodies.reader(of: task) else { throw .bodyNotFound(.lost) }
      return try await copy(reader, task.body?.size ?? 0, file)
    }
    // The file gets a second name first. Until the commit, the task's body stays in its place.
    do throws(BlobError) { try await awaitBlob { source.alias(task.bodyKey, as: BlobKey(file), $0) } } catch {
      if error.reason == .notFound { throw .bodyNotFound(.lost) }
      throw .blob(error)
    }
  }

  /// Copies a body from memory to disk.
  private func copy(_ reader: any BlobReader, _ size: Int64, _ id: FileID) async throws(ServiceError) {
    let reception = reception(of: id)
    var offset: Int64 = 0
    do throws(BlobError) {
      while true {
        let bytes = try await reader.bytes(at: offset, count: BlobWriter.chunkSize, on: pool)
        guard !bytes.isEmpty else { break }
        offset += Int64(bytes.count)
        await reception.write(bytes)
      }
    } catch {
      reception.discard()
      throw .blob(error)
    }
    guard offset == size else {
      reception.discard()
      throw .bodyNotFound(.lost)
    }
    _ = try await finish(reception.body, as: id)
  }

  private func writeFile(_ bytes: [UInt8], _ id: FileID) async throws(ServiceError) {
    let reception = reception(of: id)
    await reception.write(bytes)
    _ = try await finish(reception.body, as: id)
  }

  // MARK: Reading

  /// Completes a request whose body is a stored file. Sets the file's size, and the file's type if neither the request nor the
  /// session has a type. A file without a type is sent as `application/octet-stream`.
  func complete(_ request: inout TransferRequest, in session: TransferSession) async throws {
    guard case .file(let id, _) = request.body else { return }
    do throws(ServiceError) {
      let file = try await authorization.file(id, of: session.tenant)
      request.body = .file(id, size: file.size)
      guard file.size > 0, !request.headers.contains("Content-Type") else { return }
      let defaults = try await authorization.sessions.withConfiguration(session).configuration
        .httpAdditionalHeaders
      guard !defaults.contains("Content-Type") else { return }
      request.headers.append("Content-Type", file.typeAsBody)
    } catch .fileNotFound {
      throw InvalidFields([
        FieldViolation(
          pointer: "/request/body/file", detail: "no file has this id; GET /v1/files lists the files")
      ])
    }
  }

  /// Returns a page of a tenant's stored files.
  func page(
    of tenant: Tenant, after: FileID?, order: ListOrder, limit: Int
  ) async throws(ServiceError) -> [StoredFile] {
    do throws(LedgerError) {
      return try await recorder.store.files(of: tenant, after: after, order: order, limit: limit)
    } catch {
      throw .store(error)
    }
  }

  /// Returns a function that streams a range of the file's bytes.
  func open(_ file: StoredFile) async throws(ServiceError) -> @Sendable (Range<Int64>) -> BodyStream {
    let found: (any BlobReader)?
    do throws(BlobError) {
      found = try await blobAnswerIfAny { blobs.open(BlobKey(file.id), $0) }
    } catch { throw .blob(error) }
    guard let reader = found else { throw .fileNotFound }
    return { [pool] in BodyStream(reader, range: $0, pool: pool) }
  }

  /// Deletes a file. An upload that already reads the file continues.
  func delete(_ file: StoredFile) async throws(ServiceError) {
    var change = LedgerChange()
    change.deletedFiles = [file.id]
    try await recorder.write(change)
    await blobs.delete([BlobKey(file.id)], on: pool)
  }
}
