internal import Curl
package import EventLoop
package import HTTPServer
package import HTTPTypes
internal import Synchronization

/// The HTTP client for the other services of a data directory. It uses their UNIX sockets and persistent connections.
package final class PeerClient: PeerConnections, @unchecked Sendable {
  // Unchecked: mutable state belongs to the loop's thread.
  /// The most idle connections that are kept.
  private static let idle = 64

  private let loop: EventLoop
  /// The function that returns the path of an address's socket.
  private let socket: @Sendable (_ address: String) -> String
  private let client: CurlClient
  private var exchanges: [ObjectIdentifier: (exchange: PeerExchange, address: String)] = [:]
  /// The number of exchanges with each address.
  private let counts = Mutex<[String: Int]>([:])

  /// - Parameters:
  ///   - loop: the loop of the server whose requests are forwarded.
  ///   - socket: returns the path of an address's socket, at most 107 bytes.
  package init(loop: EventLoop, socket: @escaping @Sendable (_ address: String) -> String) {
    self.loop = loop
    self.socket = socket
    client = CurlClient(loop: loop, maximumIdle: Self.idle)
  }

  package func send(
    _ request: ServerRequest, _ fields: HTTPFields, body: [UInt8]?, to address: String
  ) async throws(PeerFailure) -> ServerResponse {
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<ServerResponse, PeerFailure>, Never>) in
      loop.perform { [self] in
        begin(request, fields, body, address) { continuation.resume(returning: $0) }
      }
    }
    return try result.get()
  }

  package func fetch(
    _ request: ServerRequest, _ fields: HTTPFields, body: [UInt8], upTo limit: Int, from address: String
  ) async throws(PeerFailure) -> (fields: HTTPFields, bytes: [UInt8]) {
    let response = try await send(request, fields, body: body, to: address)
    guard response.head.status == .ok else { throw .lost("answers \(response.head.status.code)") }
    let bytes =
      switch response.body {
      case .empty: [] as [UInt8]
      case .bytes(let bytes): bytes
      case .source(let source, _): try await PeerReply(source, on: loop).collect(upTo: limit)
      }
    return (response.head.headerFields, bytes)
  }

  package var addresses: [String] { counts.withLock { Array($0.keys) } }

  package func cancel(_ address: String) {
    loop.perform { [self] in
      for (exchange, to) in exchanges.values where to == address {
        exchange.abandon(.lost("the service is dead"))
      }
    }
  }

  /// Ends all running exchanges. Called before the loop stops.
  package func close() async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      loop.perform { [self] in
        for (exchange, _) in exchanges.values { exchange.abandon(.lost("the service is stopping")) }
        client.close()
        continuation.resume()
      }
    }
  }

  // MARK: On the loop

  private func begin(
    _ request: ServerRequest, _ fields: HTTPFields, _ body: [UInt8]?, _ address: String,
    _ answer: @escaping @Sendable (Result<ServerResponse, PeerFailure>) -> Void
  ) {
    let exchange = PeerExchange(request, on: client, loop: loop, answer: answer) { [weak self] in
      guard let self, exchanges.removeValue(forKey: ObjectIdentifier($0)) != nil else { return }
      counts.withLock { $0[address] = $0[address] == 1 ? nil : ($0[address] ?? 1) - 1 }
    }
    exchanges[ObjectIdentifier(exchange)] = (exchange, address)
    counts.withLock { $0[address, default: 0] += 1 }
    exchange.start(at: socket(address), fields, body: body)
  }
}
