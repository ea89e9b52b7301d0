import FerryClient
import TestSupport
import Testing

@Suite struct EventStreamParserTests {
  private static let text =
    "\u{FEFF}: a comment\nretry: 1500\nid: 7\nevent: task.didComplete\ndata: {\"a\":1}\ndata: second\n\n"
    + "data:progress\n\nid\ndata\n\nevent: unfinished\ndata: x\n"
  private static let expected = [
    ServerSentEvent(id: "7", type: "task.didComplete", data: Array("{\"a\":1}\nsecond".utf8)),
    ServerSentEvent(id: nil, type: "message", data: Array("progress".utf8)),
    ServerSentEvent(id: "", type: "message", data: []),
  ]

  @Test(arguments: ["\n", "\r", "\r\n"])
  func `stream split at any byte gives the same events`(lineEnd: String) throws {
    let bytes = Array(Self.text.utf8).flatMap { $0 == UInt8(ascii: "\n") ? Array(lineEnd.utf8) : [$0] }
    for place in 0...bytes.count {
      var parser = EventStreamParser()
      let events = try parser.parse(Array(bytes[..<place])) + parser.parse(Array(bytes[place...]))
      #expect(events == Self.expected, "split at \(place)")
      #expect(parser.retry == 1500 && parser.lastEventID == "")
    }
    var parser = EventStreamParser()
    #expect(try bytes.flatMap { try parser.parse([$0]) } == Self.expected)
  }

  @Test(arguments: [
    ("data: a\n\ndata: b\n\n", ["a", "b"]), ("data:  a\n\n", [" a"]), ("data\ndata\n\n", ["\n"]),
    ("event: x\n\n", []), ("unknown: a\ndata: b\n\n", ["b"]), ("data: a:b\n\n", ["a:b"]),
    (":\n\n\n\ndata: a\n\n", ["a"]), ("data: a", []), ("\ndata: a\n\n", ["a"]),
  ])
  func `fields give the data of the standard`(text: String, data: [String]) throws {
    var parser = EventStreamParser()
    #expect(try parser.parse(Array(text.utf8)).map { String(decoding: $0.data, as: UTF8.self) } == data)
  }

  @Test func `byte order mark in a later line stays`() throws {
    var parser = EventStreamParser()
    let events = try parser.parse(Array("data: a\n\n\u{FEFF}data: b\ndata: c\n\n".utf8))
    #expect(events.map(\.data) == [Array("a".utf8), Array("c".utf8)])
  }

  @Test(arguments: [("retry: 12x\n", nil as Int?), ("retry:\n", nil), ("retry: 20\n", 20)])
  func `retry is only digits`(text: String, retry: Int?) throws {
    var parser = EventStreamParser()
    _ = try parser.parse(Array(text.utf8))
    #expect(parser.retry == retry)
  }

  @Test func `identifier with a zero byte is ignored`() throws {
    var parser = EventStreamParser(lastEventID: "3")
    let events = try parser.parse(Array("id: 4\u{0}\ndata: a\n\n".utf8))
    #expect(events.map(\.id) == [nil] && parser.lastEventID == "3")
  }

  @Test func `line of the limit passes and a longer one fails`() throws {
    var parser = EventStreamParser(limit: 8)
    #expect(try parser.parse(Array("data: ab\n\n".utf8)).count == 1)
    #expect(throws: EventStreamParser.TooLong.self) { try parser.parse(Array("data: abc".utf8)) }
  }

  @Test func `event of many lines is limited`() throws {
    var parser = EventStreamParser(limit: 16)
    #expect(throws: EventStreamParser.TooLong.self) {
      try parser.parse(Array(String(repeating: "data: 12345\n", count: 4).utf8))
    }
  }

  // MARK: Random streams

  /// The results of a stream: its events, the last values of the parser, and whether a part was too long.
  private struct Reading: Equatable {
    var events: [ServerSentEvent] = []
    var lastEventID: String?
    var retry: Int?
    var isTooLong = false
  }

  private static func read(_ parts: [ArraySlice<UInt8>]) -> Reading {
    var (reading, parser) = (Reading(), EventStreamParser(limit: 60))
    for part in parts {
      do { reading.events += try parser.parse(Array(part)) } catch {
        reading.isTooLong = true
        break
      }
    }
    (reading.lastEventID, reading.retry) = (parser.lastEventID, parser.retry)
    return reading
  }

  /// Returns a stream of fields, line ends and arbitrary bytes.
  private static func stream(_ random: inout SplitMix64) -> [UInt8] {
    let words: [[UInt8]] =
      [
        "data: ", "data:", "data", "event: a", "event:", "id: 1", "id:", "id: \u{0}", "retry: 5", "retry: x",
        ": c", ":",
        " ", "x", "é", "名", "{\"a\":1}", "\u{FEFF}", "0123456789012345678901234567890",
      ].map { Array($0.utf8) } + [[0xFF], [0xEF, 0xBB], [0xC3]]
    let ends: [[UInt8]] = [[10], [13], [13, 10], [10, 10], [13, 13], [13, 10, 13, 10], [10, 13]]
    return (0..<Int.random(in: 0...24, using: &random)).flatMap { _ in
      (Bool.random(using: &random) ? words : ends).randomElement(using: &random) ?? []
    }
  }

  @Test(arguments: 0..<8) func `random stream in parts gives the events of the whole`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var (events, tooLong) = (0, 0)
    for _ in 0..<200 {
      let bytes = Self.stream(&random)
      let whole = Self.read([bytes[...]])
      var divisions = (0...bytes.count).map { [bytes[..<$0], bytes[$0...]] }
      divisions.append(bytes.indices.map { bytes[$0...$0] })
      let places = bytes.indices.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
      divisions.append(zip([0] + places, places + [bytes.count]).map { bytes[$0..<$1] })
      for parts in divisions {
        let reading = Self.read(parts)
        #expect(reading.isTooLong == whole.isTooLong, "\(parts)")
        // Before an error, the parts may have given events that the whole could not return.
        if !whole.isTooLong { #expect(reading == whole, "\(parts)") }
      }
      events += whole.events.count
      tooLong += whole.isTooLong ? 1 : 0
    }
    #expect(events > 20 && tooLong > 0, "\(events) events, \(tooLong) too long")
  }
}
