import Glibc
package import JSON

/// A reply of Ferry.
package struct HTTPReply: Sendable {
  package var status: Int
  package var fields: [(name: String, value: String)]
  package var body: [UInt8]

  package subscript(_ name: String) -> String? {
    fields.first { $0.name.lowercased() == name.lowercased() }?.value
  }
  package init(status: Int, fields: [(name: String, value: String)], body: [UInt8]) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  package var text: String { String(decoding: body, as: UTF8.self) }
  package var json: JSONValue { (try? JSONParser.parse(body)) ?? .null }
  /// The lines of an NDJSON body.
  package var lines: [JSONValue] {
    text.split(separator: "\n").map { (try? JSONParser.parse(Array($0.utf8))) ?? .null }
  }
}

/// An HTTP/1.1 client with a single connection, which adds only `Host` and `Content-Length` to a request.
package final class HTTPClient {
  package let socket: Socket
  private let port: Int

  /// Connects to a UNIX socket.
  package init(path: String) throws {
    port = 80
    socket = try Socket(connectingTo: path)
  }

  package init(port: Int, in namespace: NetworkNamespace? = nil) throws {
    self.port = port
    socket = try Socket(connectingTo: port, in: namespace)
  }

  package func send(
    _ method: String, _ target: String, _ body: [UInt8]? = nil, _ fields: [(String, String)] = []
  ) throws -> HTTPReply {
    var text = "\(method) \(target) HTTP/1.1\r\n"
    if !fields.contains(where: { $0.0 == "Host" }) { text += "Host: 127.0.0.1:\(port)\r\n" }
    for (name, value) in fields { text += "\(name): \(value)\r\n" }
    if let body { text += "Content-Length: \(body.count)\r\n" }
    try socket.write(Array((text + "\r\n").utf8) + (body ?? []))
    return try readReply(toHead: method == "HEAD")
  }

  /// Reads a reply. A reply to HEAD has no body.
  package func readReply(toHead: Bool = false) throws -> HTTPReply {
    var reply = try readHead()
    while reply.status == 100 { reply = try readHead() }
    if toHead || reply.status == 204 || reply.status == 304 { return reply }
    if reply["Transfer-Encoding"] == "chunked" {
      while let chunk = try readChunk() { reply.body += chunk }
    } else {
      reply.body = try socket.read(exactly: Int(reply["Content-Length"] ?? "0") ?? 0)
    }
    return reply
  }

  package func readHead() throws -> HTTPReply {
    guard let status = try socket.readLine() else { throw Socket.Failure(operation: "no reply", errno: 0) }
    let parts = status.split(separator: " ")
    var reply = HTTPReply(status: parts.count > 1 ? Int(parts[1]) ?? 0 : 0, fields: [], body: [])
    while let line = try socket.readLine(), !line.isEmpty {
      let field = line.split(separator: ":", maxSplits: 1)
      reply.fields.append((String(field[0]), field.count > 1 ? field[1].drop { $0 == " " }.description : ""))
    }
    return reply
  }

  /// Returns the next chunk of a chunked body, or `nil` at its end.
  package func readChunk() throws -> [UInt8]? { try socket.readChunk() }
}
