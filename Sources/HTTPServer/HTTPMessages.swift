package import HTTPTypes

/// A request as the handler sees it.
package struct ServerRequest: Sendable {
  /// Method, target and fields.
  package var head: HTTPRequest
  /// The target's path, still percent-encoded.
  package var path: String
  /// The target's query without its `?`, still percent-encoded; empty where there is none.
  package var query: String
  package let body: RequestBody
  /// The port the connection came in on.
  package let localPort: Int

  package init(head: HTTPRequest, path: String, query: String, body: RequestBody, localPort: Int) {
    self.head = head
    self.path = path
    self.query = query
    self.body = body
    self.localPort = localPort
  }
}

/// What goes back.
package struct ServerResponse: Sendable {
  package enum Body: Sendable {
    case empty
    case bytes([UInt8])
    /// Read by the server as fast as the client takes it. A nil length is sent chunked.
    case source(any ResponseSource, length: Int64?)

    /// Nobody will read it.
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

/// Answers one request. May suspend for as long as it likes; where the request is short, it begins on the server's loop, and must not keep
/// that busy.
package typealias HTTPHandler = @Sendable (ServerRequest) async -> ServerResponse

/// What a source had for the server.
package enum ResponseChunk: Sendable, Equatable {
  /// At least one byte, and not more than asked for.
  case bytes([UInt8])
  /// Nothing now: the waker will be called.
  case wait
  case end
  /// The reply cannot be finished: the connection is cut, so that the client notices.
  case failed
}

/// A body that the server pulls. `read` is called on the server's loop and must not block.
package protocol ResponseSource: AnyObject, Sendable {
  /// Whether the reply may end wherever it waits, once the server drains.
  var isEndless: Bool { get }
  /// Called once, before the first read.
  func attach(_ waker: ResponseWaker)
  func read(maximum: Int) -> ResponseChunk
  /// Called once: the reply was sent whole, or the client left.
  func close()
}

extension ResponseSource {
  package var isEndless: Bool { false }
}

/// Tells the server that a source has more. May be called from any thread, and once too often.
package struct ResponseWaker: Sendable {
  private weak var exchange: Exchange?
  private let action: (@Sendable () -> Void)?

  init(exchange: Exchange) {
    self.exchange = exchange
    action = nil
  }

  /// - Parameter action: for who reads a source and is no server.
  package init(_ action: @escaping @Sendable () -> Void) { self.action = action }

  package func wake() {
    exchange?.sourceHasMore()
    action?()
  }
}
