import EventLoop
import Glibc
import Synchronization

/// A relay to a server on this machine that records the bytes of clients, and that can cut or redirect connections at
/// an unchanged port.
package final class TCPRelay: Sendable {
  private struct State {
    var target: Int
    /// Both ends of each connection. `sent` contains the bytes from each client.
    var ends: [(client: Socket, server: Socket)] = []
    var sent: [[UInt8]] = []
  }

  package let port: Int
  private let listener: Int32
  private let state: Mutex<State>

  package init(to target: Int) {
    state = Mutex(State(target: target))
    (listener, port) = Socket.listen()
    let listener = listener
    POSIXThread.spawn(name: "test-relay") { [weak self] in
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0, let self else { return }
        self.connect(Socket(descriptor: descriptor))
      }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    cut()
  }

  /// Sets the port for new connections.
  package func redirect(to target: Int) { state.withLock { $0.target = target } }

  /// The number of connections so far.
  package var connections: Int { state.withLock { $0.sent.count } }

  /// The types of the TLS records that clients sent on each connection (RFC 8446 §5.1): 20 change_cipher_spec, 21
  /// alert, 22 handshake, 23 application_data.
  package var records: [[UInt8]] { state.withLock { $0.sent.map(Self.types) } }

  /// Ends all connections.
  package func cut() {
    state.withLock { state in
      for (client, server) in state.ends {
        shutdown(client.descriptor, Int32(SHUT_RDWR))
        shutdown(server.descriptor, Int32(SHUT_RDWR))
      }
      state.ends.removeAll()
    }
  }

  private func connect(_ client: Socket) {
    guard let server = try? Socket(connectingTo: state.withLock({ $0.target })) else { return }
    let index = state.withLock { state in
      state.ends.append((client, server))
      state.sent.append([])
      return state.sent.count - 1
    }
    POSIXThread.spawn(name: "test-relay-up") { [weak self] in
      while let bytes = try? client.readSome() {
        self?.state.withLock { $0.sent[index] += bytes }
        guard (try? server.write(bytes)) != nil else { break }
      }
      server.shutdownWrites()
    }
    POSIXThread.spawn(name: "test-relay-down") {
      while let bytes = try? server.readSome() {
        guard (try? client.write(bytes)) != nil else { break }
      }
      client.shutdownWrites()
    }
  }

  private static func types(_ bytes: [UInt8]) -> [UInt8] {
    var (types, offset) = ([UInt8](), 0)
    while offset + 5 <= bytes.count {
      types.append(bytes[offset])
      offset += 5 + Int(bytes[offset + 3]) << 8 + Int(bytes[offset + 4])
    }
    return types
  }
}
