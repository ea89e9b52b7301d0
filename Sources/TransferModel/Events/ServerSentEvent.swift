import JSON

/// A writer of events in the format of streams, in which the journal also stores them.
package struct ServerSentEventWriter: Sendable {
  package private(set) var bytes: [UInt8] = []

  package init() {}

  /// Writes one event: `id:` if it has a sequence number, `event:`, and `data:` with one JSON object.
  /// - Parameter isOfAll: Whether the event belongs to the stream of all sessions rather than to one session.
  package mutating func append(event: TransferEvent, sequence: Int64?, isOfAll: Bool = false) {
    if let sequence {
      bytes.append(contentsOf: "id: ".utf8)
      bytes.append(contentsOf: String(sequence).utf8)
      bytes.append(0x0A)
    }
    bytes.append(contentsOf: "event: ".utf8)
    bytes.append(contentsOf: event.type.rawValue.utf8)
    bytes.append(contentsOf: "\ndata: ".utf8)
    var writer = JSONWriter(appendingTo: bytes)
    bytes = []
    writer.object { writer in
      if let sequence { writer.field("id", sequence) } else { writer.nullField("id") }
      writer.field("type", event.type.rawValue)
      writer.field("time", event.time)
      if isOfAll || event.type.isOfTenant {
        writer.nullField("sessionId")
      } else {
        writer.field("sessionId", event.sessionID)
      }
      if let task = event.taskID { writer.field("taskId", task) } else { writer.nullField("taskId") }
      writer.key("data")
      event.encodeData(into: &writer)
    }
    bytes = writer.bytes
    bytes.append(contentsOf: "\n\n".utf8)
  }
}

/// A reader of the parts of written events that filters need.
package enum ServerSentEvents {
  /// Returns the events of `stream` after `sequence` whose type is wanted, as unchanged copies.
  package static func filter(
    _ stream: [UInt8], after sequence: Int64, types: Set<EventType>?
  ) -> [UInt8] {
    var kept: [UInt8] = []
    for event in split(stream) where isWanted(event, after: sequence, types: types) {
      kept.append(contentsOf: event)
    }
    return kept
  }

  private static func endOfEvent(in stream: Span<UInt8>, from start: Int) -> Int? {
    var index = start + 1
    while index < stream.count {
      // Only a line feed can be the first or the second byte of the pair.
      guard stream[index] == 0x0A else {
        index += 2
        continue
      }
      if stream[index - 1] == 0x0A { return index + 1 }
      index += 1
    }
    return nil
  }

  private static func isWanted(_ event: ArraySlice<UInt8>, after sequence: Int64, types: Set<EventType>?)
    -> Bool
  {
    if let id = id(of: event), id <= sequence { return false }
    guard let types else { return true }
    guard let name = typeName(of: event) else { return false }
    return types.contains { type in
      let known = type.rawValue.utf8
      return known.count == name.count && name.elementsEqual(known)
    }
  }

  /// Returns the event's sequence number; `nil` for progress, which has none.
  package static func id(of event: ArraySlice<UInt8>) -> Int64? {
    guard event.starts(with: "id: ".utf8) else { return nil }
    var number: Int64 = 0
    for byte in event.dropFirst(4) {
      if byte == 0x0A { return number }
      let digit = Int64(byte) - 0x30
      guard (0...9).contains(digit), number <= (.max - digit) / 10 else { return nil }
      number = number * 10 + digit
    }
    return nil
  }

  package static func type(of event: ArraySlice<UInt8>) -> EventType? {
    typeName(of: event).flatMap { EventType(rawValue: String(decoding: $0, as: UTF8.self)) }
  }

  private static func typeName(of event: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    var line = event
    if line.starts(with: "id: ".utf8) { line = line.drop { $0 != 0x0A }.dropFirst() }
    guard line.starts(with: "event: ".utf8) else { return nil }
    return line.dropFirst(7).prefix { $0 != 0x0A }
  }

  /// Returns the JSON text of an event.
  package static func data(of event: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var rest = event
    while !rest.isEmpty {
      if rest.starts(with: "data: ".utf8) { return rest.dropFirst(6).prefix { $0 != 0x0A } }
      rest = rest.drop { $0 != 0x0A }.dropFirst()
    }
    return rest
  }

  /// Returns the time of the first event of `stream`. The first few hundred bytes are enough.
  package static func time(of stream: [UInt8]) -> Timestamp? {
    let name = Array(#""time":""#.utf8)
    let start = stream.indices.first { stream[$0...].starts(with: name) }
    guard let value = start.map({ stream[($0 + name.count)...].prefix { $0 != UInt8(ascii: "\"") } }) else {
      return nil
    }
    return Timestamp(String(decoding: value, as: UTF8.self))
  }

  /// Returns the events of `stream` one by one, each with its blank line.
  package static func split(_ stream: [UInt8]) -> [ArraySlice<UInt8>] {
    var events: [ArraySlice<UInt8>] = []
    var start = 0
    while let end = endOfEvent(in: stream.span, from: start) {
      events.append(stream[start..<end])
      start = end
    }
    return events
  }
}
