internal import Limits

/// A parser of `text/event-stream`, for bytes that are split at any place.
package struct EventStreamParser: Sendable {
  /// A line or an event exceeds the limit.
  package struct TooLong: Error, Sendable, Equatable {}

  /// The last identifier, which a new connection sends as `Last-Event-ID`.
  package private(set) var lastEventID: String?
  /// The pause in milliseconds that the server asks for.
  package private(set) var retry: Int?

  private let limit: Int
  private var line: [UInt8] = []
  private var type: [UInt8] = []
  private var data: [UInt8] = []
  private var hasData = false
  private var id: String?
  private var endsWithCarriageReturn = false
  private var isFirstLine = true

  /// - Parameters:
  ///   - lastEventID: the identifier at which the stream begins.
  ///   - limit: the most bytes of a line, and of an event's data.
  package init(lastEventID: String? = nil, limit: Int = ClientLimits.eventLineBytes.value) {
    self.lastEventID = lastEventID
    self.limit = limit
  }

  /// Returns the events that these bytes complete.
  package mutating func parse(_ bytes: [UInt8]) throws(TooLong) -> [ServerSentEvent] {
    var events: [ServerSentEvent] = []
    var start = 0
    for index in bytes.indices {
      let byte = bytes[index]
      guard byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") else { continue }
      // The line feed of CR LF ends no further line.
      let isSecondHalf =
        byte == UInt8(ascii: "\n") && endsWithCarriageReturn && index == start && line.isEmpty
      endsWithCarriageReturn = byte == UInt8(ascii: "\r")
      if !isSecondHalf {
        try append(bytes[start..<index])
        if let event = try endLine() { events.append(event) }
      }
      start = index + 1
    }
    if start < bytes.count {
      endsWithCarriageReturn = false
      try append(bytes[start...])
    }
    return events
  }

  private mutating func append(_ bytes: ArraySlice<UInt8>) throws(TooLong) {
    guard line.count + bytes.count <= limit else { throw TooLong() }
    line += bytes
  }

  private mutating func endLine() throws(TooLong) -> ServerSentEvent? {
    defer { line.removeAll(keepingCapacity: true) }
    if isFirstLine {
      isFirstLine = false
      if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
    }
    guard !line.isEmpty else { return dispatch() }
    let name = line.prefix { $0 != UInt8(ascii: ":") }
    var value = line[name.endIndex...].dropFirst()
    if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
    switch String(decoding: name, as: UTF8.self) {
    case "event": type = Array(value)
    case "data":
      guard data.count + value.count < limit else { throw TooLong() }
      if hasData { data.append(UInt8(ascii: "\n")) }
      data += value
      hasData = true
    case "id" where !value.contains(0):
      id = String(decoding: value, as: UTF8.self)
      lastEventID = id
    case "retry":
      guard !value.isEmpty, value.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
        break
      }
      retry = Int(String(decoding: value, as: UTF8.self)) ?? retry
    default: break
    }
    return nil
  }

  private mutating func dispatch() -> ServerSentEvent? {
    defer { (type, data, hasData, id) = ([], [], false, nil) }
    guard hasData else { return nil }
    return ServerSentEvent(
      id: id, type: type.isEmpty ? "message" : String(decoding: type, as: UTF8.self), data: data)
  }
}

/// One event of an event stream (WHATWG HTML, "Server-sent events").
package struct ServerSentEvent: Sendable, Equatable {
  /// The identifier that the event itself carries; `nil` if it has none.
  package let id: String?
  package let type: String
  package let data: [UInt8]

  package init(id: String?, type: String, data: [UInt8]) {
    self.id = id
    self.type = type
    self.data = data
  }
}
