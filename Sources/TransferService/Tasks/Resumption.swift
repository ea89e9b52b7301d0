internal import EventLoop
internal import JSON
internal import TransferCore
internal import TransferModel

/// Going on from what a task left (NSURLSessionDownloadTaskResumeData, NSURLSessionUploadTaskResumeData).
struct Resumption: Sendable {
  let tasks: Tasks
  let ownership: Ownership
  let sealer: ResumeDataSealer

  /// URLSessionDownloadTask.cancel(byProducingResumeData:): the task as it ended, and what it can go on from; nil
  /// where it cannot.
  func cancel(_ id: TaskID) async throws(ServiceError) -> (task: TransferTask, resumeData: String?) {
    let task = try await tasks.cancel(id, keepsPartial: true)
    guard task.state == .canceling else { return (task, resumeData(of: task)) }
    await tasks.waitForEnd(of: id, seconds: Tasks.patience)
    let ended = try await tasks.task(id)
    return (ended, resumeData(of: ended))
  }

  /// Resume data of a failed or cancelled download or upload; nil where it left nothing to go on from.
  func resumeData(of task: TransferTask) -> String? {
    let now = tasks.identifiers.now()
    guard task.state == .completed, let point = task.partial, task.partialExpiresAt ?? now >= now,
      let tenant = tasks.room.session(task.sessionID)?.tenant
    else { return nil }
    return sealer.seal(task.originalRequest, point, of: tenant)
  }

  /// A task's specification from resume data; nil where the data is not this service's, was changed, is another tenant's, or was
  /// sealed under a key that the service has no more. Whether its bytes are still there is found when the download begins: where they
  /// are gone, it begins anew.
  func specification(from data: String, of tenant: Tenant) -> TaskSpecification? {
    guard let (request, point) = sealer.open(data, of: tenant) else { return nil }
    var specification = TaskSpecification(kind: point.upload == nil ? .download : .upload, request: request)
    specification.resumePoint = point
    return specification
  }

  /// Completes what resume data leaves open: the bytes of an upload are with the task that sent them first.
  func complete(_ specification: inout TaskSpecification, of tenant: Tenant) async throws {
    guard let point = specification.resumePoint?.upload else { return }
    do throws(ServiceError) {
      if case .file(let id, _) = specification.request.body {
        _ = try await ownership.file(id, of: tenant)
      } else {
        // The data is sealed for the tenant; the task's session may be another process's.
        let source = try await tasks.task(point.source)
        specification.request.body = source.originalRequest.body
        guard let body = source.originalRequest.body?.spooled else { return }
        // That file goes with its own task.
        guard let bytes = try await tasks.spool.read(body, of: source) else {
          throw ServiceError.taskNotFound
        }
        specification.request.body = .data(bytes)
      }
    } catch {
      switch error {
      case .fileNotFound, .taskNotFound:
        throw InvalidFields([FieldViolation(pointer: "/resumeData", detail: "the body of the upload is gone")]
        )
      default: throw error
      }
    }
  }
}
