internal import EventLoop
internal import JSON
internal import TransferCore
internal import TransferModel

/// Use cases of resume data (NSURLSessionDownloadTaskResumeData, NSURLSessionUploadTaskResumeData).
struct ResumeDataOperations: Sendable {
  let tasks: Tasks
  let authorization: TenantAuthorization
  let sealer: ResumeDataSealer

  /// URLSessionDownloadTask.cancel(byProducingResumeData:).
  /// - Returns: the task after its end, and its resume data, or `nil` if it cannot be resumed.
  func cancel(_ id: TaskID) async throws(ServiceError) -> (task: TransferTask, resumeData: String?) {
    let task = try await tasks.cancel(id, keepsPartial: true)
    guard task.state == .canceling else { return (task, resumeData(of: task)) }
    await tasks.waitForEnd(of: id, seconds: Tasks.waitLimit)
    let ended = try await tasks.task(id)
    return (ended, resumeData(of: ended))
  }

  /// - Returns: the resume data of a failed or cancelled download or upload, or `nil` if the task cannot be resumed.
  func resumeData(of task: TransferTask) -> String? {
    let now = tasks.identifiers.now()
    guard task.state == .completed, let point = task.partial, task.partialExpiresAt ?? now >= now,
      let tenant = tasks.runtime.session(task.sessionID)?.tenant
    else { return nil }
    return sealer.seal(task.requestToRepeat, point, of: tenant)
  }

  /// Makes a task's specification from resume data. If the bytes no longer exist when the download begins, the download restarts.
  /// - Returns: `nil` if the data are invalid, belong to another service or tenant, or were sealed with a key that is no longer
  ///   configured.
  func specification(from data: String, of tenant: Tenant) -> TaskSpecification? {
    guard let (request, point) = sealer.open(data, of: tenant) else { return nil }
    var specification = TaskSpecification(kind: point.upload == nil ? .download : .upload, request: request)
    specification.resumePoint = point
    return specification
  }

  /// Completes a specification from resume data. The bytes of an upload belong to the task that sent them first.
  func complete(_ specification: inout TaskSpecification, of tenant: Tenant) async throws {
    guard let point = specification.resumePoint?.upload else { return }
    do throws(ServiceError) {
      if case .file(let id, _) = specification.request.body {
        _ = try await authorization.file(id, of: tenant)
      } else {
        // The data are sealed for the tenant, so no other check is needed. Another service may own the task's session.
        let source = try await tasks.task(point.source)
        specification.request.body = source.originalRequest.body
        guard let body = source.originalRequest.body?.spooled else { return }
        // That task's file is deleted with the task, so the new task gets a copy of the bytes.
        guard let bytes = try await tasks.spool.read(body, of: source) else {
          throw ServiceError.taskNotFound
        }
        specification.request.body = .data(bytes)
      }
    } catch {
      switch error {
      case .fileNotFound, .taskNotFound:
        throw InvalidFields([
          FieldViolation(
            pointer: "/resumeData",
            detail: "the body of the upload no longer exists; start the upload from its request")
        ]
        )
      default: throw error
      }
    }
  }
}
