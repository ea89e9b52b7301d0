internal import HTTPServer
internal import HTTPTypes
internal import TransferModel
internal import TransferService

extension TransferAPI {
  static var uploadRoutes: [Route] {
    [Route("PUT", "/v1/tasks/{task}/body", takesBytes: true) { try await $0.sendBody($1) }]
  }

  /// Streams the client's bytes to the origin, as fast as that takes them.
  private func sendBody(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let body = context.request.body
    let length = body.length.map { Int64($0) }
    let upload = try await view(context).openUpload(of: context.taskID(), length: length)
    // The task's own clock comes first.
    body.allowSilence(seconds: Int(clamping: Int64(upload.timeout)) + Self.graceSeconds)
    // A client that waits for the reply with its next bytes is not waited for.
    upload.whenAbandoned { body.stop() }
    do {
      if upload.fault != nil { throw Self.refusal(of: upload) }
      while let chunk = try await body.next() {
        guard await upload.write(chunk) else { throw Self.refusal(of: upload) }
      }
    } catch {
      upload.fail()
      throw error
    }
    guard await upload.finish() else { throw Self.refusal(of: upload) }
    return Reply.noContent()
  }

  private static func refusal(of upload: BodyUpload) -> Problem {
    upload.fault.map { Problem(.invalidRequest, $0) } ?? interrupted
  }

  private static let graceSeconds = 15

  private static let interrupted = Problem(
    .uploadInterrupted,
    "the task ended, or the origin answered for another request, before it had all of the body")
}
