internal import Curl
internal import EngineAPI
internal import HTTPFields
internal import Limits
internal import TransferModel

/// The state of an upload that can continue after an interruption: its next request, and the meaning of responses
/// (draft-ietf-httpbis-resumable-upload, URLSessionUploadTask). Every upload offers this; a server without support treats the request as
/// any other. Version 6 has one difference: the response to a part may call the upload complete, and the response to the last part need
/// not.
struct ResumableUpload: Sendable {
  /// The maximum number of append requests of one upload.
  static let maximumAppends = Limits.uploadAppends.value
  /// The maximum number of offsets that a server may correct.
  private static let maximumCorrections = Limits.uploadCorrections.value

  enum Step: Equatable, Sendable {
    /// Sends the whole body in the client's own request.
    case creation
    /// Asks for the offset of the received bytes.
    case offsetRetrieval
    /// Sends these bytes of the body.
    case append(Range<Int64>)
  }
  enum NextStep: Equatable {
    /// The response is the task's.
    case result
    /// The request to send next.
    case send(TransferRequest)
    /// The upload cannot continue now.
    case failed(TransferError)
  }

  private(set) var step: Step
  /// The offered version, or the one of the upload resource's server.
  private(set) var version: UploadVersion
  /// The client's own request, or the request that redirects made of it.
  private(set) var request: TransferRequest
  /// The upload resource; `nil` until the server has named it.
  private(set) var point: UploadPoint?
  /// The length of the body in bytes.
  let length: Int64
  private let task: TaskID
  private let allowsInsecureRedirects: Bool
  private let secretNames: [String]
  /// The maximum number of bytes that the server accepts in one request.
  private var appendLimit: Int64?
  private var appends = 0
  private var corrections = 0

  /// Returns `nil` if the upload could not continue: there is no upload, its body cannot be read again, or the client itself uses the
  /// protocol.
  /// - Parameter offered: The version for a new upload.
  init?(_ job: TransferJob, offering offered: UploadVersion = .v8) {
    guard job.kind == .upload, let body = job.request.body, body.length > 0,
      !job.request.headers.fields.contains(where: { Self.isOwn($0.name) })
    else { return nil }
    request = job.request
    length = body.length
    task = job.task
    allowsInsecureRedirects = job.configuration.allowsInsecureRedirects
    secretNames = job.configuration.secretHeaderFields
    point = job.resumePoint?.upload
    step = point == nil ? .creation : .offsetRetrieval
    version = point == nil ? offered : point?.version.flatMap { UploadVersion(rawValue: $0) } ?? .v8
  }

  // MARK: Requests

  /// The first request.
  var first: TransferRequest { step == .creation ? request : message("HEAD", body: nil) }

  /// The range of the body that the current request sends.
  var range: Range<Int64> {
    switch step {
    case .creation: 0..<length
    case .offsetRetrieval: 0..<0
    case .append(let range): range
    }
  }

  /// The protocol's fields for the current request.
  var fields: [HTTPHeaders.Field] {
    var fields = [HTTPHeaders.Field(name: "Upload-Draft-Interop-Version", value: "\(version.rawValue)")]
    switch step {
    case .creation: fields.append(.init(name: "Upload-Complete", value: "?1"))
    case .offsetRetrieval: break
    case .append(let range):
      fields.append(.init(name: "Upload-Complete", value: range.upperBound == length ? "?1" : "?0"))
      fields.append(.init(name: "Upload-Offset", value: "\(range.lowerBound)"))
    }
    return fields
  }

  /// Returns a request to the upload resource. It has the credentials of the client's request, but no fields about the content.
  private func message(_ method: String, body: RequestContent?) -> TransferRequest {
    var next = request
    next.url = point?.resource ?? request.url
    next.method = method
    next.body = body
    next.headers = HTTPHeaders(request.headers.fields.filter { !Self.isOfContent($0.name) })
    if body != nil { next.headers.append("Content-Type", "application/partial-upload") }
    let (own, other) = (try? CurlURL(request.url), try? CurlURL(next.url))
    if own == nil || own?.origin != other?.origin {
      next.headers.removeSecrets(and: secretNames)
      next.credential = nil
    }
    return next
  }

  private static func isOfContent(_ name: String) -> Bool {
    let name = name.lowercasedASCII
    return FieldName.describesContent(name) || ["if-", "upload-"].contains { name.hasPrefix($0) }
      || ["range", "expect"].contains(name)
  }

  private static func isOwn(_ name: String) -> Bool { name.lowercasedASCII.hasPrefix("upload-") }

  /// Records that another request of the task is sent: a redirect's, or a repeat.
  mutating func willSend(_ next: TransferRequest) {
    switch step {
    case .creation:
      // The upload resource belongs to the server of the earlier request.
      if next.url != request.url { point = nil }
      request = next
    case .offsetRetrieval, .append: point?.resource = next.url
    }
  }

  // MARK: Responses

  /// Handles an informational response. Returns whether the upload can be resumed from now on.
  mutating func handleInformational(informational head: ResponseHead, at url: CurlURL) -> Bool {
    guard head.status == 104,
      head.headers.single("Upload-Draft-Interop-Version")?.trimmingBlanks == "\(version.rawValue)"
    else { return false }
    noteLimit(head)
    guard step == .creation, point == nil, let location = head.headers.location,
      let resource = try? url.resolve(location), !resource.hasUserInfo,
      resource.scheme == "https" || url.scheme == "http" || allowsInsecureRedirects
    else { return false }
    point = UploadPoint(
      resource: resource.text, source: task, version: version == .v8 ? nil : version.rawValue)
    return true
  }

  /// Returns the meaning of the response to the current request.
  mutating func nextStep(on head: ResponseHead) -> NextStep {
    noteLimit(head)
    let isSuccess = (200..<300).contains(head.status)
    let isComplete = Self.boolean(head.headers.single("Upload-Complete"))
    let offset = Self.offset(head).flatMap { $0 <= length ? $0 : nil }
    switch step {
    case .creation:
      if isUnknownVersion(head) {
        version = .v6
        return .send(request)
      }
      guard isSuccess, isComplete == false, point != nil, let offset else { return .result }
      return append(from: offset)
    case .offsetRetrieval:
      guard isSuccess else { return unavailable(head) }
      // The server has the whole body, but its response was lost.
      if isComplete == true { return .result }
      guard let offset else { return lost("the upload resource does not say how much it has received") }
      return append(from: offset)
    case .append(let range):
      if isComplete == true, version == .v8 || range.upperBound == length || !isSuccess { return .result }
      if head.status == 409 {
        corrections += 1
        guard corrections <= Self.maximumCorrections else {
          return lost(
            "the server corrected its offset more than \(Self.maximumCorrections) times")
        }
        guard let offset else {
          step = .offsetRetrieval
          return .send(message("HEAD", body: nil))
        }
        return append(from: offset)
      }
      guard isSuccess, isComplete == false || range.upperBound < length else { return .result }
      let next = offset ?? range.upperBound
      guard next > range.lowerBound || range.isEmpty else {
        return lost("the server accepts no further bytes")
      }
      return append(from: next)
    }
  }

  /// Returns whether a tus server refused the offered version. Such a server treats an unknown version as a request of tus 1.0, and
  /// responds with 412 before it reads the body.
  private func isUnknownVersion(_ head: ResponseHead) -> Bool {
    head.status == 412 && version == .v8 && point == nil && head.headers.contains("Tus-Resumable")
  }

  private mutating func append(from offset: Int64) -> NextStep {
    appends += 1
    guard appends <= Self.maximumAppends else {
      return lost("the server requires more than \(Self.maximumAppends) requests")
    }
    let end = appendLimit.map { min(length - offset, $0) + offset } ?? length
    step = .append(offset..<end)
    var body = request.body
    if case .data(let bytes) = body { body = .data(Array(bytes[Int(offset)..<Int(end)])) }
    return .send(message("PATCH", body: body))
  }

  /// Handles an upload resource that does not respond as expected.
  private mutating func unavailable(_ head: ResponseHead) -> NextStep {
    // The upload resource may respond later.
    if head.status >= 500 || [401, 407, 408, 409, 423, 425, 429].contains(head.status) {
      return .failed(error("the upload resource responds with status \(head.status)"))
    }
    // The server has lost the upload. An idempotent request is sent again from the start (RFC 9110 §9.2.2).
    guard point?.source == task, request.isIdempotent else {
      return lost("the upload resource responds with status \(head.status)")
    }
    (point, step) = (nil, .creation)
    return .send(request)
  }

  private mutating func lost(_ reason: String) -> NextStep {
    point = nil
    return .failed(error(reason))
  }

  private func error(_ reason: String) -> TransferError {
    TransferError(.badServerResponse, "the upload cannot continue: \(reason)", failingURL: request.url)
  }

  // MARK: Fields (RFC 9651)

  private mutating func noteLimit(_ head: ResponseHead) {
    for member in (head.headers["Upload-Limit"] ?? "").split(separator: ",") {
      let parts = member.split(separator: "=", maxSplits: 1).map { $0.trimmingBlanks }
      guard parts.count == 2, parts[0] == "max-append-size", let limit = Self.integer(parts[1]), limit > 0
      else {
        continue
      }
      appendLimit = limit
    }
  }

  private static func offset(_ head: ResponseHead) -> Int64? {
    head.headers.single("Upload-Offset").flatMap { integer($0.trimmingBlanks) }
  }

  /// Returns the value of an integer of at most 15 digits that is not negative.
  private static func integer(_ text: String) -> Int64? {
    guard text.utf8.count <= 15, text.utf8.allSatisfy({ $0 &- 48 < 10 }) else { return nil }
    return Int64(text)
  }

  private static func boolean(_ text: String?) -> Bool? {
    switch text?.trimmingBlanks {
    case "?1": true
    case "?0": false
    default: nil
    }
  }
}
