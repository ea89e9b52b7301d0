import Glibc
package import JSON

/// A reply as the tests look at it.
package struct HTTPReply: Sendable {
  package var status: Int
  package var fields: [(name: String, value: String)]
  package var body: [UInt8]

  package subscript(_ name: String) -> String? {
    fields.first { $0.name.lowercased() == name.lowercased() }?.value
  }
  package var text: String { String(decoding: body, as: UTF8.self) }
  package var json: JSONValue { (try? JSONParser.parse(body)) ?? .null }
  /// The lines of an NDJSON body.
  package var lines: [JSONValue] {
    text.split(separator: "\n").map { (try? JSONParser.parse(Array($0.utf8))) ?? .null }
  }
}

/// An HTTP/1.1 client that sends just what it is told: one connection, one request after the other.
package final class HTTPClient {
  package let socket: Socket
  private let port: Int

  /// To a UNIX socket.
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

  /// Reads a reply; one to HEAD has no body.
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

  /// The next chunk of a chunked body; nil at its end.
  package func readChunk() throws -> [UInt8]? { try socket.readChunk() }
}

/// A stream of server-sent events.
package final class EventReader {
  package struct Event: Sendable {
    package var id: Int64?
    package var type: String
    package var json: JSONValue
    package var task: String? { json["taskId"]?.string }
    package var data: JSONValue { json["data"] ?? .null }
  }
  package let client: HTTPClient
  private var text: [UInt8] = []
  private var scanned = 0
  package let head: HTTPReply

  package init(
    port: Int, _ target: String, _ fields: [(String, String)] = [], in namespace: NetworkNamespace? = nil
  ) throws {
    client = try HTTPClient(port: port, in: namespace)
    var request = "GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
    for (name, value) in fields { request += "\(name): \(value)\r\n" }
    try client.socket.write(request + "\r\n")
    head = try client.readHead()
  }

  /// The next event; comments are passed over; nil at the end of the stream.
  package func next() throws -> Event? {
    while true {
      while let end = endOfBlock() {
        let block = String(decoding: text[..<end], as: UTF8.self)
        text.removeFirst(end + 2)
        scanned = 0
        if let event = Self.parse(block) { return event }
      }
      guard let chunk = try client.readChunk() else { return nil }
      text += chunk
    }
  }

  /// Where the blank line is; what was looked at before is passed over, as events with bytes are long.
  private func endOfBlock() -> Int? {
    text.withUnsafeBytes { bytes in
      while let base = bytes.baseAddress, let found = memchr(base + scanned, 0x0A, bytes.count - scanned) {
        let place = UnsafeRawPointer(found) - base
        guard place + 1 < bytes.count else { return nil }
        if bytes[place + 1] == 0x0A { return place }
        scanned = place + 1
      }
      scanned = bytes.count
      return nil
    }
  }

  /// Events up to and including the first of that type.
  package func read(upTo type: String) throws -> [Event] {
    var events: [Event] = []
    while let event = try next() {
      events.append(event)
      if event.type == type { break }
    }
    return events
  }

  private static func parse(_ block: String) -> Event? {
    var event = Event(id: nil, type: "", json: .null)
    for line in block.split(separator: "\n") {
      let parts = line.split(separator: ": ", maxSplits: 1).map(String.init)
      guard parts.count == 2 else { continue }
      switch parts[0] {
      case "id": event.id = Int64(parts[1])
      case "event": event.type = parts[1]
      case "data": event.json = (try? JSONParser.parse(Array(parts[1].utf8))) ?? .null
      default: break
      }
    }
    return event.type.isEmpty ? nil : event
  }
}
