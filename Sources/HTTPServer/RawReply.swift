internal import CLinux
internal import CMicroHTTPD
internal import Glibc
internal import HTTPTypes

/// A short reply, written to the socket past libmicrohttpd: where that takes none, in the middle of a body or of a head. Nothing
/// of its own is on the way there then, and the connection is cut behind it.
struct RawReply {
  /// Bytes; what is longer may not fit into the socket's buffer at once.
  static let maximumSize = 16 * 1024
  private let head: [UInt8]
  private let body: [UInt8]

  /// Nil where the reply is no short one.
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

  /// - Parameter toHead: the request was HEAD, as far as can be told.
  func write(to descriptor: Int32, toHead: Bool = false) {
    let bytes = toHead ? head : head + body
    _ = bytes.withUnsafeBytes {
      send(descriptor, $0.baseAddress, $0.count, clinux_no_signal | clinux_no_wait)
    }
  }
}
