internal import HTTPFields

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
  package var timeout: Duration? = ServiceLimits.requestTimeout
  /// The longest pause between bytes of a stream's reply; `nil` for no limit.
  package var silence: Duration?
  /// The most bytes of a reply that `send` collects.
  package var maximumReply = ServiceLimits.replyBytes

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

/// The limits of a client on what a service may send it.
package enum ServiceLimits {
  /// A reply that is collected in memory.
  package static let replyBytes = 64 << 20
  /// The head of a reply.
  package static let headBytes = 64 << 10
  /// The bytes of a stream that wait for their reader, before the connection is paused.
  package static let bufferedBytes = 256 << 10
  /// One line of an event stream. An event with inline data is a line.
  package static let eventLineBytes = 16 << 20
  package static let requestTimeout = Duration.seconds(60)
  package static let connectTimeout = Duration.seconds(10)
  /// The pause after which an event stream counts as dead. The service sends a heartbeat every 15 seconds.
  package static let eventSilence = Duration.seconds(45)
  /// The first and the longest pause before an event stream is opened again.
  package static let reconnectPauses = Duration.milliseconds(250)...Duration.seconds(15)
  /// Idle connections that are kept.
  package static let idleConnections = 16
}
