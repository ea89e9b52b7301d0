internal import HTTPFields
package import TransferModel

/// The place of a request body's bytes, or of the key of its file.
enum RequestBytes {
  case inDocument
  /// Outside the request's object: in a column, or in `currentBody`. When reading, the content found there. Unused when writing.
  case separate([UInt8]?)
}

extension TransferRequest: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    try members(&coder, value, bytes: .inDocument)
  }

  static func members(
    _ coder: inout RecordCoder, _ value: Self?, bytes: RequestBytes
  ) throws(RecordFault) -> Self {
    var request = TransferRequest(
      url: try coder.required("url", value?.url), method: try coder.required("method", value?.method),
      headers: try coder.member("headers", value?.headers, else: HTTPHeaders()),
      body: try coder.object("body", value?.body) { coder, body throws(RecordFault) in
        try RequestContent.members(&coder, body, bytes)
      },
      timeoutInterval: try coder.optional("timeoutInterval", value?.timeoutInterval))
    request.cachePolicy = try coder.optional("cachePolicy", value?.cachePolicy)
    request.httpShouldHandleCookies = try coder.member(
      "httpShouldHandleCookies", value?.httpShouldHandleCookies, else: true)
    request.mainDocumentURL = try coder.optional("mainDocumentURL", value?.mainDocumentURL)
    request.networkAccess = try NetworkAccess.members(&coder, value?.networkAccess)
    request.networkServiceType = try coder.optional("networkServiceType", value?.networkServiceType)
    request.credential = try coder.optional("credential", value?.credential)
    request.secretHeaderFields = try coder.optional("secretHeaderFields", value?.secretHeaderFields)
    return request
  }
}

extension RequestChange: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    RequestChange(
      url: try coder.required("url", value?.url),
      headers: try coder.member("headers", value?.headers, else: HTTPHeaders()),
      credential: try coder.optional("credential", value?.credential))
  }
}

extension RequestContent {
  /// The bytes of the body, or the key of its file.
  package var ownBytes: [UInt8]? { data ?? spooled?.key }

  fileprivate static func members(
    _ coder: inout RecordCoder, _ value: Self?, _ bytes: RequestBytes
  ) throws(RecordFault) -> Self {
    let isStream = try coder.member("stream", value?.isStream, else: false)
    let file: FileID? = try coder.optional("file", value?.file)
    let size = try coder.optional("size", value.flatMap { $0.isStream ? nil : $0.length })
    let blob = try coder.optional("blob", value?.spooled?.blob)
    let own =
      switch bytes {
      case .inDocument: try coder.bytes("bytes", value?.ownBytes)
      case .separate(let bytes): bytes
      }
    if isStream { return .stream }
    guard let size else { throw coder.fault("size", "is missing") }
    if let file { return .file(file, size: size) }
    // At a session's end, its tasks' bodies and keys are deleted. The body is then read as empty.
    if let blob { return .spooled(SpooledBody(size: size, blob: blob, key: own ?? [])) }
    return .data(own ?? [])
  }
}

/// The network switches of a request or a configuration.
extension NetworkAccess: MutableRecord {
  package mutating func members(_ coder: inout RecordCoder) throws(RecordFault) {
    try coder.field("allowsCellularAccess", &allowsCellularAccess, else: true)
    try coder.field("allowsExpensiveNetworkAccess", &allowsExpensiveNetworkAccess, else: true)
    try coder.field("allowsConstrainedNetworkAccess", &allowsConstrainedNetworkAccess, else: true)
  }
}
