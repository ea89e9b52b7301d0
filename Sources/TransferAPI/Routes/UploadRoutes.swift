internal import HTTPServer
internal import HTTPTypes
internal import TransferModel
internal import TransferService

extension TransferAPI {
  static var uploadRoutes: [Route] {
    [Route("PUT", "/v1/tasks/{task}/body", takesBytes: true) { try await $0.sendBody($1) }]
  }

  /// Streams the client's bytes to the origin, at the origin's pace.
  private func sendBody(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let body = context.request.body
    let length = body.length.map { Int64($0) }
    let upload = try await view(context).openUpload(of: context.taskID(), length: length)
    // The grace time lets the task's own timeout come first.
    body.allowSilence(seconds: Int(clamping: Int64(upload.timeout)) + Self.graceSeconds)
    // Some clients wait for the reply before they send more. Stopping the body ends that wait.
    upload.whenAbandoned { body.stop() }
    do {
      if upload.lengthMismatch != nil { throw Self.refusal(of: upload) }
      while let chunk = try await body.next() {
        guard await upload.write(chunk) else { throw Self.refusal(of: upload) }
      }
    } catch {
      upload.fail()
      throw error
    }
    guard await upload.finish() else { throw Self.refusal(of: upload) }
    return ReplyBuilder.noContent()
  }

  private static func refusal(of upload: BodyUpload) -> Problem {
    upload.lengthMismatch.map { Problem(.invalidRequest, $0) } ?? interrupted
  }

  private static let graceSeconds = 15

  private static let interrupted = Problem(
    .uploadInterrupted,
    "the task ended, or needs the body again, before it had received the whole body")
}
