import Foundation
package import JSON
import Testing

/// A stream of server-sent events.
package final class EventReader {
  package struct Event: Sendable {
    package var id: Int64?
    package var type: String
    package var json: JSONValue
    package var task: String? { json["taskId"]?.string }
    package var data: JSONValue { json["data"] ?? .null }
  }
  private var text: [UInt8] = []
  private var scanned = 0
  package let head: HTTPReply
  /// Returns the next bytes of the stream, or `nil` at its end. Waits for them.
  private let nextChunk: () throws -> [UInt8]?

  package init(head: HTTPReply, nextChunk: @escaping () throws -> [UInt8]?) {
    self.head = head
    self.nextChunk = nextChunk
  }

  package convenience init(
    port: Int, _ target: String, _ fields: [(String, String)] = [], in namespace: NetworkNamespace? = nil
  ) throws {
    let client = try HTTPClient(port: port, in: namespace)
    var request = "GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
    for (name, value) in fields { request += "\(name): \(value)\r\n" }
    try client.socket.write(request + "\r\n")
    self.init(head: try client.readHead()) { try client.readChunk() }
  }

  /// Returns the next event, or `nil` at the end of the stream. Skips comments.
  package func next() throws -> Event? {
    while true {
      while let end = endOfBlock() {
        let block = String(decoding: text[..<end], as: UTF8.self)
        text.removeFirst(end + 2)
        scanned = 0
        if let event = Self.parse(block) { return event }
      }
      guard let chunk = try nextChunk() else { return nil }
      text += chunk
    }
  }

  /// Returns the position of the blank line that ends a block. Bytes are scanned once only, because events with
  /// inline data are long.
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

  /// Waits for the event of the task's creation. From then on the stream receives progress, which is not replayed.
  package func catchUp() throws { _ = try read(upTo: "task.didCreate") }

  /// Returns the events up to and including the first event of this type.
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

extension [EventReader.Event] {
  /// Returns the bytes of a task's body from its inline events.
  package func bytes(of task: String) throws -> [UInt8] {
    var bytes: [UInt8] = []
    for event in self where event.type == "dataTask.didReceiveData" && event.task == task {
      let text = try #require(event.data["data"]?.string)
      let piece = try #require(Data(base64Encoded: text))
      bytes += piece
      #expect(event.id == nil && !piece.isEmpty)
    }
    return bytes
  }
}
