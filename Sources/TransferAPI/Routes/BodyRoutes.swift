internal import HTTPFields
internal import HTTPServer
internal import HTTPTypes
internal import TransferModel
internal import TransferService

extension TransferAPI {
  static var bodyRoutes: [Route] {
    [
      Route("GET", "/v1/tasks/{task}/body", isOfAnyType: true) { try await $0.readBody($1) },
      Route("DELETE", "/v1/tasks/{task}/body") { api, context in
        try context.allowQuery()
        try await api.view(context).deleteBody(of: context.taskID())
        return ReplyBuilder.noContent()
      },
    ]
  }

  private func readBody(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    switch try await view(context).body(of: context.taskID()) {
    case .small(let bytes, let task):
      return try stored(task, context) { .bytes(Array(bytes[Int($0.lowerBound)..<Int($0.upperBound)])) }
    case .file(let task, let stream):
      return try stored(task, context) { range in
        .source(BodyStreamSource(stream(range)), length: range.upperBound - range.lowerBound)
      }
    case .live(let response, let stream):
      var fields = Self.fields(of: response)
      fields[.acceptRanges] = "none"
      return ServerResponse(status: .ok, fields: fields, body: .source(BodyStreamSource(stream), length: nil))
    }
  }

  private func stored(
    _ task: TransferTask, _ context: RequestContext, _ body: (Range<Int64>) -> ServerResponse.Body
  ) throws -> ServerResponse {
    guard let info = task.body else { throw Problem(.internalError) }
    let content = StoredContent(size: info.size, sha256: info.sha256, fields: Self.fields(of: task.response))
    return try content.reply(to: context, body)
  }

  /// Makes the field Content-Disposition. `filename*` takes precedence over `filename`, which is for older clients (RFC 6266 §4.3).
  static func disposition(_ name: String) -> String {
    let plain = name.unicodeScalars.map { scalar in
      let isPlain = (0x20..<0x7F).contains(scalar.value) && scalar != "\"" && scalar != "\\" && scalar != "%"
      return isPlain ? String(scalar) : "_"
    }.joined()
    return "attachment; filename=\"\(plain)\"; filename*=UTF-8''\(PercentEncoding.encode(name))"
  }

  /// Returns the origin's type and file name.
  private static func fields(of response: TransferResponse?) -> HTTPFields {
    var fields = StoredContent.safeFields(
      type: response?.headers["Content-Type"] ?? StoredContent.unknownType)
    if let name = response?.suggestedFilename, name.utf8.count <= StoredContent.maximumFilename {
      fields[.contentDisposition] = Self.disposition(name)
    }
    return fields
  }
}

/// The range that a field Range requests (RFC 9110 §14.1.2).
enum RequestedRange: Equatable {
  /// The field has no range that Ferry supports, so it is ignored.
  case whole
  case part(Range<Int64>)
  case unsatisfiable

  static func parse(_ field: String, size: Int64) -> RequestedRange {
    guard field.lowercasedASCII.hasPrefix("bytes=") else { return .whole }
    let set = field.dropFirst(6).split(separator: ",", omittingEmptySubsequences: false)
    guard set.count == 1 else { return .whole }
    let ends = set[0].trimmingBlanks.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy { $0 &- 48 < 10 } }) else { return .whole }
    switch (Int64(ends[0]), Int64(ends[1])) {
    case (nil, let count?) where ends[0].isEmpty:
      return count == 0 || size == 0 ? .unsatisfiable : .part(max(0, size - count)..<size)
    case (let first?, let last):
      guard ends[1].isEmpty || last != nil else { return .whole }
      guard first < size else { return .unsatisfiable }
      guard let last else { return .part(first..<size) }
      return last < first ? .whole : .part(first..<(last >= size - 1 ? size : last + 1))
    default: return .whole
    }
  }
}

/// A body stream as the body of a reply.
final class BodyStreamSource: ResponseSource {
  private let stream: BodyStream
  init(_ stream: BodyStream) { self.stream = stream }

  func attach(_ waker: ResponseWaker) { stream.start { waker.wake() } }
  func read(maximum: Int) -> ResponseChunk {
    switch stream.read(maximum: maximum) {
    case .bytes(let bytes): .bytes(bytes)
    case .wait: .wait
    case .end: .end
    case .failed: .failed
    }
  }
  func close() { stream.close() }
}
