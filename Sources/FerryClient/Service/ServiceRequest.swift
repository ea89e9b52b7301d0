internal import HTTPFields
internal import Limits

/// A request to a service.
package struct ServiceRequest: Sendable {
  package enum Body: Sendable {
    case bytes([UInt8])
    /// A body that is read while it is sent. `next` returns `nil` at the end, and is not called again after an error.
    case producer(length: Int64?, next: @Sendable () async throws -> [UInt8]?)
  }

  package var method: String
  /// The path below the service's URL, percent-encoded, with a slash at its beginning.
  package var path: String
  /// Names and values, not yet encoded.
  package var query: [(name: String, value: String)]
  package var fields: [(name: String, value: String)]
  package var body: Body?
  /// The limit of the whole request; `nil` for none. Streams end only if `silence` passes.
  package var timeout: Duration? = .seconds(ClientLimits.requestSeconds.value)
  /// The longest pause between bytes of a stream's reply; `nil` for no limit.
  package var silence: Duration?
  /// The most bytes of a reply that `send` collects.
  package var maximumReply = ClientLimits.replyBytes.value

  package init(
    _ method: String, _ path: String, query: [(name: String, value: String)] = [],
    fields: [(name: String, value: String)] = [], body: Body? = nil
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.fields = fields
    self.body = body
  }

  /// A request with a JSON body.
  package init(_ method: String, _ path: String, json: [UInt8]) {
    self.init(method, path, fields: [("Content-Type", "application/json")], body: .bytes(json))
  }

  /// The path with the encoded query.
  package var target: String {
    guard !query.isEmpty else { return path }
    return path + "?"
      + query.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
      .joined(separator: "&")
  }
}
