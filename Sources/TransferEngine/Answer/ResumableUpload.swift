internal import Curl
internal import EngineAPI
internal import HTTPFields
internal import Limits
internal import TransferModel

/// An upload that can go on where it stopped, on servers that keep what has come: what is sent next, and what an answer means
/// (draft-ietf-httpbis-resumable-upload, URLSessionUploadTask). Every upload offers it; a server that does not know it takes the
/// request as any other. Version 6 differs in this alone: the reply to a part may call the upload complete, and the reply to the
/// last part need not.
struct ResumableUpload: Sendable {
  /// Requests in which one upload may have to be sent.
  static let maximumAppends = Limits.uploadAppends.value
  /// Offsets that a server may correct without anything having gone on.
  private static let maximumCorrections = Limits.uploadCorrections.value

  enum Step: Equatable, Sendable {
    /// The whole, in the client's own request.
    case creation
    /// Asks how much has come.
    case offsetRetrieval
    /// Sends these bytes of the body.
    case append(Range<Int64>)
  }
  enum Verdict: Equatable {
    /// The answer is the task's.
    case result
    /// This is to be sent next.
    case send(TransferRequest)
    /// It cannot go on now.
    case failed(TransferError)
  }

  private(set) var step: Step
  /// What it offers, and what the server of its upload resource speaks.
  private(set) var version: UploadVersion
  /// The client's own request, or what redirects have made of it.
  private(set) var request: TransferRequest
  /// Where the server keeps what has come, once it has said so.
  private(set) var point: UploadPoint?
  /// Bytes of the body.
  let length: Int64
  private let task: TaskID
  private let allowsInsecureRedirects: Bool
  private let secretNames: [String]
  /// Bytes that the server takes in one request.
  private var appendLimit: Int64?
  private var appends = 0
  private var corrections = 0

  /// nil where nothing could go on: no upload, a body that cannot be read again, or a client that speaks the protocol itself.
  /// - Parameter offered: the version for an upload that is new.
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

  /// What is sent first.
  var first: TransferRequest { step == .creation ? request : message("HEAD", body: nil) }

  /// The bytes of the body that are sent now.
  var range: Range<Int64> {
    switch step {
    case .creation: 0..<length
    case .offsetRetrieval: 0..<0
    case .append(let range): range
    }
  }

  /// The fields that the request under way needs beside its own.
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

  /// A request to the upload resource, with what the client's own says of who sends it, but nothing of what it says of the body.
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

  /// Another request of the task's is sent: a redirect's, or the same once more.
  mutating func willSend(_ next: TransferRequest) {
    switch step {
    case .creation:
      // Who keeps what has come is the one that was asked.
      if next.url != request.url { point = nil }
      request = next
    case .offsetRetrieval, .append: point?.resource = next.url
    }
  }

  // MARK: Answers

  /// Takes an informational response; true where the upload can go on from now on.
  mutating func take(informational head: ResponseHead, at url: CurlURL) -> Bool {
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

  /// What the answer to the request under way means.
  mutating func verdict(on head: ResponseHead) -> Verdict {
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
      // All of it came, and the answer to that was lost.
      if isComplete == true { return .result }
      guard let offset else { return lost("its upload resource does not say how much has come") }
      return append(from: offset)
    case .append(let range):
      if isComplete == true, version == .v8 || range.upperBound == length || !isSuccess { return .result }
      if head.status == 409 {
        corrections += 1
        guard corrections <= Self.maximumCorrections else {
          return lost("the server corrects its offset again and again")
        }
        guard let offset else {
          step = .offsetRetrieval
          return .send(message("HEAD", body: nil))
        }
        return append(from: offset)
      }
      guard isSuccess, isComplete == false || range.upperBound < length else { return .result }
      let next = offset ?? range.upperBound
      guard next > range.lowerBound || range.isEmpty else { return lost("the server takes no more of it") }
      return append(from: next)
    }
  }

  /// Whether a tus server refused the offered version. It treats an unknown version as a request of tus 1.0,
  /// and answers 412 before it reads the body.
  private func isUnknownVersion(_ head: ResponseHead) -> Bool {
    head.status == 412 && version == .v8 && point == nil && head.headers.contains("Tus-Resumable")
  }

  private mutating func append(from offset: Int64) -> Verdict {
    appends += 1
    guard appends <= Self.maximumAppends else {
      return lost("the server wants it in more than \(Self.maximumAppends) pieces")
    }
    let end = appendLimit.map { min(length - offset, $0) + offset } ?? length
    step = .append(offset..<end)
    var body = request.body
    if case .data(let bytes) = body { body = .data(Array(bytes[Int(offset)..<Int(end)])) }
    return .send(message("PATCH", body: body))
  }

  /// The upload resource does not answer as it should.
  private mutating func unavailable(_ head: ResponseHead) -> Verdict {
    // Later it may.
    if head.status >= 500 || [401, 407, 408, 409, 423, 425, 429].contains(head.status) {
      return .failed(error("its upload resource answers with status \(head.status)"))
    }
    // The server has forgotten it: what means the same when it is sent twice is sent anew (RFC 9110 §9.2.2).
    guard point?.source == task, request.isIdempotent else {
      return lost("its upload resource answers with status \(head.status)")
    }
    (point, step) = (nil, .creation)
    return .send(request)
  }

  private mutating func lost(_ reason: String) -> Verdict {
    point = nil
    return .failed(error(reason))
  }

  private func error(_ reason: String) -> TransferError {
    TransferError(.badServerResponse, "the upload cannot go on: \(reason)", failingURL: request.url)
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

  /// Not negative, and of at most 15 digits.
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
