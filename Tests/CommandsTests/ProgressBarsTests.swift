import JSON
import Testing

@testable import Commands

@Suite struct ProgressBarsTests {
  /// A board with a running, a waiting and a finished file.
  private static func board(_ name: String = "debian-12.iso") -> TransferBoard {
    let items = [name, "wait.bin", "done.txt"].map { TransferItem(url: "http://o/\($0)", key: $0) }
    var board = TransferBoard(items, window: 10, tries: 20)
    _ = board.begin([])
    _ = board.didCreate([(0, .success("a")), (1, .success("b")), (2, .success("c"))])
    _ = board.receive([.transferring(task: "a"), .progress(task: "a", received: 0, expected: 100 << 20)])
    board.tick(at: 0)
    _ = board.receive([
      .progress(task: "a", received: 25 << 20, expected: 100 << 20),
      .waiting(task: "b", reason: "503 Service Unavailable", until: 9, isRetry: true),
      .body(task: "c", .init(suggestedName: nil, size: 7, sha256: "")), .ended(task: "c", nil),
    ])
    _ = board.didFetch(item: 2, .success(.init(path: "/done.txt", size: 7, sha256: "")))
    board.tick(at: 1)
    return board
  }

  @Test func `wide terminal shows bars with rate and time left`() {
    let lines = ProgressBars(columns: 100, rows: 24).lines(Self.board(), at: 1, .none)
    #expect(
      lines == [
        "debian-12.iso                   [#######.....................]  25%   25.0 MiB   25.0 MiB/s    0:03",
        "wait.bin  retry 1/20 in 8 s: 503 Service Unavailable",
        "1/3 files                       [............................]    –   25.0 MiB   25.0 MiB/s   --:--",
      ])
  }

  @Test(arguments: [1, 2, 5, 10, 20, 24, 30, 44, 45, 60, 79, 80, 132, 300])
  func `line is shorter than the terminal`(columns: Int) {
    for name in ["a", "名前名前名前名前名前名前名前名前.iso", "e\u{301}e\u{301}e\u{301}.txt", "x\u{1B}[31m\u{7}.txt"] {
      for line in ProgressBars(columns: columns, rows: 24).lines(Self.board(name), at: 1, .none) {
        #expect(PlainText.width(line) <= max(1, columns - 1), "\(columns): \(line)")
        #expect(line.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
      }
    }
  }

  @Test func `waiting file is yellow`() {
    let lines = ProgressBars(columns: 100, rows: 24).lines(Self.board(), at: 1, Colors(isTerminal: true, [:]))
    #expect(lines[1] == "wait.bin  \u{1B}[33mretry 1/20 in 8 s: 503 Service Unavailable\u{1B}[0m")
    #expect(!lines[0].contains("\u{1B}") && !lines[2].contains("\u{1B}"))
  }

  @Test func `narrow terminal keeps name and percent`() {
    #expect(
      ProgressBars(columns: 40, rows: 24).lines(Self.board(), at: 1, .none).first
        == "debian-12.iso          25%   25.0 MiB/s")
    #expect(
      ProgressBars(columns: 20, rows: 24).lines(Self.board(), at: 1, .none).first == "debian-12.iso   25%")
  }

  @Test(arguments: [
    ("http://h/a%20b.iso?x=/y", "a b.iso"), ("http://h/%E5%90%8D", "名"), ("http://h/%FF%zz%", "%FF%zz%"),
    ("http://h/", "h"), ("http://h/%1B[2J", "?[2J"),
  ])
  func `name is that of the URL until the server suggests one`(url: String, name: String) {
    #expect(TransferItem(url: url, key: "").shownName == name)
  }

  @Test func `low terminal shows few bars`() {
    #expect(ProgressBars(columns: 80, rows: 2).lines(Self.board(), at: 1, .none).count == 2)
  }
}

@Suite struct PlainTextTests {
  @Test(arguments: [
    ("abc", 3), ("名前", 4), ("e\u{301}", 1), ("\u{200B}a", 1), ("가", 2), ("🚀", 2), ("", 0), ("é", 1),
  ])
  func `width counts cells`(text: String, cells: Int) { #expect(PlainText.width(text) == cells) }

  @Test(arguments: [
    ("abcdef", 6, "abcdef"), ("abcdef", 4, "abc…"), ("abcdef", 1, "…"), ("abcdef", 0, ""), ("名前名前", 5, "名前…"),
    ("名前名前", 4, "名…"), ("a-long-name-of-a-file.iso", 15, "a-long-na…e.iso"),
  ])
  func `text is shortened by cells`(text: String, cells: Int, expected: String) {
    #expect(PlainText.fitted(text, to: cells) == expected)
    #expect(PlainText.width(expected) <= cells)
  }

  @Test func `control and format characters are replaced`() throws {
    #expect(PlainText.safe("a\u{1B}[2J\r\n\u{202E}b\u{9B}\u{7F}\u{2028}") == "a?[2J??b???")
    let json = Array("{\"a\":\"\u{9B}\u{202E}\u{2028}\u{E0041}ü\u{7F}\"}".utf8)
    #expect(PlainText.safe(json: json) == #"{"a":"\u009b\u202e\u2028\udb40\udc41ü\u007f"}"#)
    #expect(try JSONParser.parse(Array(PlainText.safe(json: json).utf8)) == JSONParser.parse(json))
  }
}

@Suite struct QuantitiesTests {
  @Test(
    arguments: [
      (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (1_023_900, "999.9 KiB"),
      (1_048_575, "1.0 MiB"), (Int64.max, "8192.0 PiB"), (-5, "0 B"),
    ] as [(Int64, String)])
  func `size has a unit`(bytes: Int64, text: String) { #expect(Quantities.bytes(bytes) == text) }

  @Test(arguments: [
    (0.0, "0:00"), (0.2, "0:01"), (59.5, "1:00"), (3723, "1:02:03"), (.infinity, "--:--"), (-1, "0:00"),
  ])
  func `duration is a clock`(seconds: Double, text: String) { #expect(Quantities.clock(seconds) == text) }

  @Test(
    arguments: [
      ("90", 90), ("30s", 30), ("15m", 900), ("2h", 7200), ("7d", 604_800), ("1w", 604_800), ("", nil),
      ("h", nil),
      ("-1h", nil), ("1.5h", nil), ("99999999999d", nil),
    ] as [(String, Int64?)])
  func `duration is read`(text: String, seconds: Int64?) { #expect(Quantities.seconds(text) == seconds) }

  @Test(
    arguments: [
      ("1", 1), ("500k", 512_000), ("2M", 2 << 20), ("0", nil), ("x", nil), ("99999999999999g", nil),
    ] as [(String, Int64?)])
  func `number of bytes is read`(text: String, bytes: Int64?) { #expect(Quantities.byteCount(text) == bytes) }
}
