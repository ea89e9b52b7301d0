internal import CLinux
internal import CMicroHTTPD
internal import Glibc
internal import HTTPTypes

/// A short reply that is written directly to the socket, in the middle of a head or a body, where libmicrohttpd accepts no reply. At that
/// point libmicrohttpd sends nothing itself, and the connection ends after the reply.
struct RawReply {
  /// The largest size in bytes. A longer reply may not fit into the socket's buffer at once.
  static let maximumSize = 16 * 1024
  private let head: [UInt8]
  private let body: [UInt8]

  /// Serialises a reply; `nil` if the reply is long or has a source.
  init?(_ response: ServerResponse) {
    let body: [UInt8]
    switch response.body {
    case .empty: body = []
    case .bytes(let bytes): body = bytes
    case .source: return nil
    }
    guard body.count <= Self.maximumSize else { return nil }
    var head = "HTTP/1.1 \(response.head.status.code) \(response.head.status.reasonPhrase)\r\n"
    for field in response.head.headerFields { head += "\(field.name.canonicalName): \(field.value)\r\n" }
    head += "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
    self.head = Array(head.utf8)
    self.body = body
    guard self.head.count + body.count <= Self.maximumSize else { return nil }
  }

  /// Writes the reply, as far as the socket's buffer has room.
  /// - Parameter toHead: whether the request was HEAD, as far as is known.
  func write(to descriptor: Int32, toHead: Bool = false) {
    let bytes = toHead ? head : head + body
    _ = bytes.withUnsafeBytes {
      send(descriptor, $0.baseAddress, $0.count, clinux_no_signal | clinux_no_wait)
    }
  }
}
