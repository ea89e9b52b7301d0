internal import HTTPCache
internal import HTTPFields
internal import JSON
internal import TransferCore
internal import TransferModel

extension DecisionAnswer {
  /// Reads a caching decision's answer (urlSession(_:dataTask:willCacheResponse:completionHandler:) takes a CachedURLResponse).
  init?(caching reader: inout ObjectReader, _ shown: HTTPHeaders) {
    let policy: CacheStoragePolicy? = reader.requiredChoice("storagePolicy")
    reader.allowNull("response")
    var headers: HTTPHeaders?
    if var fields = reader.object("response") {
      headers = Self.headers(&fields, shown)
      fields.finish(explaining: Self.unchangeable)
      if policy == .notAllowed {
        reader.reject("response", "must be left out if storagePolicy is notAllowed")
      }
    }
    guard let policy else { return nil }
    self = .caching(policy, headers: headers)
  }

  private static func headers(_ reader: inout ObjectReader, _ shown: HTTPHeaders) -> HTTPHeaders? {
    guard let value = reader.value("headers") else {
      if reader.isMissing("headers") { reader.reject("headers", "is required") }
      return nil
    }
    // A fixed field may be returned unchanged, so that a delegate can copy all fields and change one.
    var fixed: [String: String] = [:]
    for field in shown.fields where StoredFields.isFixed(field.name) {
      fixed[field.name.lowercasedASCII] = field.value
    }
    return HTTPHeaders(validating: value, at: reader.pointer(to: "headers"), reader.violations) {
      guard StoredFields.isFixed($0), $1.string == nil || $1.string != fixed[$0.lowercasedASCII] else {
        return nil
      }
      return "cannot be changed; leave it out, or send its original value"
    }
  }

  private static let unchangeable = [
    "url": "cannot be changed", "status": "cannot be changed", "body": "cannot be changed",
    "data": "cannot be changed", "userInfo": "is not stored; only header fields are stored with a body",
  ]
}
