package import HTTPTypes

/// A request, as the handler receives it.
package struct ServerRequest: Sendable {
  /// The method, the target and the header fields.
  package var head: HTTPRequest
  /// The path of the target, percent-encoded.
  package var path: String
  /// The query of the target without its `?`, percent-encoded; empty if the target has none.
  package var query: String
  package let body: RequestBody
  /// The local port of the connection.
  package let localPort: Int

  package init(head: HTTPRequest, path: String, query: String, body: RequestBody, localPort: Int) {
    self.head = head
    self.path = path
    self.query = query
    self.body = body
    self.localPort = localPort
  }
}

/// The reply to a request.
package struct ServerResponse: Sendable {
  package enum Body: Sendable {
    case empty
    case bytes([UInt8])
    /// A source that the server reads as fast as the client does. Without a length the body is chunked.
    case source(any ResponseSource, length: Int64?)

    /// Closes the source, because the body will not be read.
    package func close() {
      if case .source(let source, _) = self { source.close() }
    }
  }
  package var head: HTTPResponse
  package var body: Body

  package init(status: HTTPResponse.Status, fields: HTTPFields = [:], body: Body = .empty) {
    head = HTTPResponse(status: status, headerFields: fields)
    self.body = body
  }
}

/// Answers one request. The handler may suspend. For a short request it starts on the server's loop, and must not block that loop.
package typealias HTTPHandler = @Sendable (ServerRequest) async -> ServerResponse

/// The result of one read from a source.
package enum ResponseChunk: Sendable, Equatable {
  /// At least one byte, and at most the requested number.
  case bytes([UInt8])
  /// No bytes are available now. The source calls the waker later.
  case wait
  case end
  /// The reply cannot be completed. The server closes the connection, so that the client notices.
  case failed
}

/// A reply body that the server reads. The server calls `read` on its loop, so `read` must not block.
package protocol ResponseSource: AnyObject, Sendable {
  /// Whether the reply may end at any wait, when the server drains.
  var isEndless: Bool { get }
  /// Connects the source to the server. The server calls this function once, before the first read.
  func attach(_ waker: ResponseWaker)
  func read(maximum: Int) -> ResponseChunk
  /// Releases the source. The server calls this function once: when the reply was sent, or when the client left.
  func close()
}

extension ResponseSource {
  package var isEndless: Bool { false }
}

/// Notifies the server that a source has more bytes. Any thread may call it; a surplus call has no effect.
package struct ResponseWaker: Sendable {
  private weak var exchange: Exchange?
  private let action: (@Sendable () -> Void)?

  init(exchange: Exchange) {
    self.exchange = exchange
    action = nil
  }

  /// Makes a waker for a reader that is not a server.
  package init(_ action: @escaping @Sendable () -> Void) { self.action = action }

  package func wake() {
    exchange?.sourceHasMore()
    action?()
  }
}
