import HTTPFields
import Limits
import TestSupport
import Testing

@testable import TransferEngine

/// The parsed parts, with the slices of each body joined.
struct MultipartOutput: Equatable {
  struct Part: Equatable {
    var fields: [String]
    var body: [UInt8] = []
  }
  var parts: [Part] = []
  var hasEnded = false
  var isMalformed = false
  /// Whether output came in a wrong order: a body before a head, an empty slice, anything after the end.
  var isOutOfOrder = false

  mutating func take(_ output: MultipartParser.Output) {
    if hasEnded { isOutOfOrder = true }
    switch output {
    case .head(let headers): parts.append(Part(fields: headers.fields.map { "\($0.name)=\($0.value)" }))
    case .body(let bytes):
      if parts.isEmpty || bytes.isEmpty { isOutOfOrder = true } else { parts[parts.count - 1].body += bytes }
    case .end: hasEnded = true
    }
  }

  /// Returns the output of a parser that receives these pieces.
  static func of(_ pieces: [ArraySlice<UInt8>], boundary: String) throws -> MultipartOutput {
    var parser = try #require(
      MultipartParser(contentType: "multipart/x-mixed-replace; boundary=\"\(boundary)\""))
    var output = MultipartOutput()
    for piece in pieces { piece.withUnsafeBytes { parser.add($0) { output.take($0) } } }
    parser.finish { output.take($0) }
    output.isMalformed = parser.isMalformed
    return output
  }
}

@Suite struct MultipartParserTests {
  /// Returns the parts as `fields|body`, then `end` and `malformed`. Checks that they do not depend on how the text is cut.
  private func parse(_ text: String, boundary: String = "frame") throws -> [String] {
    let bytes = Array(text.utf8)
    let whole = try MultipartOutput.of([bytes[...]], boundary: boundary)
    for size in [1, 2, 3, 7] {
      let pieces = stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
      #expect(try MultipartOutput.of(pieces, boundary: boundary) == whole, "pieces of \(size)")
    }
    for cut in bytes.indices {
      #expect(
        try MultipartOutput.of([bytes[..<cut], bytes[cut...]], boundary: boundary) == whole, "at \(cut)")
    }
    #expect(!whole.isOutOfOrder)
    return whole.parts.map {
      $0.fields.joined(separator: ",") + "|" + String(decoding: $0.body, as: UTF8.self)
    }
      + (whole.hasEnded ? ["end"] : []) + (whole.isMalformed ? ["malformed"] : [])
  }

  @Test(arguments: [
    ("multipart/x-mixed-replace;boundary=a", true), ("Multipart/X-Mixed-Replace; Boundary=a", true),
    (" multipart/x-mixed-replace ; charset=x; boundary = \"a b\" ", true),
    ("multipart/x-mixed-replace; boundary=--myboundary", true),
    ("multipart/x-mixed-replace; boundary=\"--a;b\"", true),
    ("multipart/x-mixed-replace; boundary=" + String(repeating: "x", count: 70), true),
    ("multipart/x-mixed-replace; boundary=" + String(repeating: "x", count: 71), false),
    ("multipart/x-mixed-replace; boundary=", false), ("multipart/x-mixed-replace; boundary=\"\"", false),
    ("multipart/x-mixed-replace", false), ("multipart/x-mixed-replace; boundary", false),
    ("multipart/x-mixed-replace; boundary=\"a \"", false), ("multipart/x-mixed-replace; boundary=é", false),
    ("multipart/x-mixed-replace; boundary=a\rb", false), ("multipart/x-mixed-replace; boundary=\"a", true),
    ("multipart/mixed; boundary=a", false), ("multipart/x-mixed-replaces; boundary=a", false),
    ("image/jpeg", false), ("", false), (";boundary=a", false),
  ])
  func `type and boundary are checked`(_ contentType: String, _ expected: Bool) {
    #expect((MultipartParser(contentType: contentType) != nil) == expected)
  }

  @Test(arguments: [
    ("", []), ("\r\n", []), ("nothing", []), ("--frame", []), ("--frame\r\n", []),
    ("--frame\r\nA: 1\r\n", []),
    ("--frame\r\n\r\n", ["|"]), ("--frame\r\n\r\nx", ["|x"]),
    ("--frame\r\nA: 1\r\nb-c:2\r\n\r\nx", ["A=1,B-C=2|x"]),
    ("--frame\r\nA: 1\r\n  2\r\nrubbish\r\n\r\nx", ["A=1 2|x"]),
    ("--frame\r\nA: 1\r\n\r\nx\r\n--frame\r\nA: 2\r\n\r\ny\r\n--frame--\r\n", ["A=1|x", "A=2|y", "end"]),
    // With LF alone, or mixed line ends: one line end belongs to the delimiter, others to the body.
    ("--frame\nA: 1\n\nx\n--frame\nA: 2\n\ny\n--frame--\n", ["A=1|x", "A=2|y", "end"]),
    ("--frame\r\nA: 1\n\r\nx\n--frame\r\n\ny\r\n--frame--", ["A=1|x", "|y", "end"]),
    ("--frame\n\nx\r\n\r\n--frame\n\n\n\n--frame--", ["|x\r\n", "|\n", "end"]),
    ("--frame\n\nx\r\r\n--frame--", ["|x\r", "end"]), ("--frame\n\nx\r--frame--", ["|x\r--frame--"]),
    // Preamble and epilogue.
    ("hello\r\n--fram\r\n --frame\r\n\r\n--frame\r\n\r\nx\r\n--frame--\r\n--frame\r\n\r\ny", ["|x", "end"]),
    ("\r\n\r\n--frame\r\n\r\nx\r\n--frame--and more\r\n", ["|x", "end"]),
    ("--frame--\r\nx", ["end"]), ("--frame--", ["end"]), ("x\r\n--frame--x", ["end"]),
    // Without a body, without fields, without both.
    ("--frame\r\nA: 1\r\n\r\n--frame\r\n\r\n\r\n--frame\r\n\r\n--frame--", ["A=1|", "|", "|", "end"]),
    // A part that is cut off in its header block is dropped.
    ("--frame\r\nA: 1\r\n--frame\r\nB: 2\r\n\r\nx", ["B=2|x"]), ("--frame\r\nA: 1\r\n--frame--", ["end"]),
  ])
  func `stream is split into its parts`(_ text: String, _ expected: [String]) throws {
    #expect(try parse(text) == expected)
  }

  @Test(arguments: [
    "\r\n--fram", "\r\n--framex\r\n", "\r\n--frame x\r\n", "\r\n--frame-\r\n", "\r\n-frame\r\n",
    "\r\n --frame\r\n",
    "\r\n--frame\rx", "\r\n--frame \r \n", "--frame\r\n-", "\r\n--Frame\r\n", "\r--frame\r\n", "\r\r\r", "\r",
    "\n\n",
    "\r\n--\r\n--f\r\n--fr\n--fra\r", "\r\nframe\r\n", "\r\nframe--\r\n", "\r\n--frame \u{B}\r\n",
    "\r\n--frame" + String(repeating: " ", count: 300) + "\r\n",
  ])
  func `near miss of a delimiter stays in the body`(_ text: String) throws {
    let (before, after) = ("--frame\r\n\r\n", "\r\n--frame--")
    #expect(try parse(before + "x" + text + after) == ["|x" + text, "end"])
    #expect(try parse(before + "x" + text + text + "y" + after) == ["|x" + text + text + "y", "end"])
  }

  @Test(arguments: ["", " ", "\t", " \t \t", String(repeating: " ", count: 200)])
  func `blanks may follow a delimiter`(_ blanks: String) throws {
    for end in ["\r\n", "\n"] {
      let text =
        "--frame\(blanks)\(end)\(end)x\(end)--frame\(blanks)\(end)\(end)y\(end)--frame--\(blanks)\(end)z"
      #expect(try parse(text) == ["|x", "|y", "end"])
    }
  }

  @Test(arguments: 240...260)
  func `delimiter with too many blanks stays in the body`(_ count: Int) throws {
    let blanks = String(repeating: " ", count: count)
    let output = try parse("--frame\r\n\r\nx\r\n--frame\(blanks)\r\n--frame\r\n\r\ny\r\n--frame--")
    #expect(output.last == "end")
    #expect(output.dropLast().last == "|y")
    #expect(output.first == "|x" || output.first?.hasPrefix("|x\r\n--frame\(blanks)") == true)
  }

  @Test(arguments: [
    // As in RFC 2046, with and without dashes in the boundary; and the boundary alone.
    ("b", "--b", "b"), ("--b", "----b", "--b"), ("--b", "--b", "----b"), ("b", "b", "--b"),
    ("a b'()+_,-./:=?", "--a b'()+_,-./:=?", "a"), ("-", "---", "-"), ("--", "--", "-"),
  ])
  func `first delimiter sets the form`(_ boundary: String, _ delimiter: String, _ other: String) throws {
    let text = "\(delimiter)\r\n\r\nx\r\n\(other)\r\n\r\n\(delimiter)\r\n\r\ny\r\n\(delimiter)--\r\n"
    #expect(try parse(text, boundary: boundary) == ["|x\r\n\(other)\r\n", "|y", "end"])
  }

  @Test(arguments: [
    ("x", ["|x"]), ("x\r\n", ["|x\r\n"]), ("x\r", ["|x\r"]), ("x\r\n--fra", ["|x\r\n--fra"]),
    ("--fra", ["|--fra"]),
    // A whole boundary is a delimiter even if its line end is missing.
    ("x\r\n--frame", ["|x"]), ("x\r\n--frame \r", ["|x"]), ("x\r\n--frame-", ["|x"]),
    ("x\r\n--frame\r\n", ["|x"]),
    ("x\r\n--frame\r\nA: 1\r\n", ["|x"]),
  ])
  func `cut stream keeps the received part of its body`(_ text: String, _ expected: [String]) throws {
    #expect(try parse("--frame\r\n\r\n" + text) == expected)
  }

  @Test func `parser ignores bytes after its end`() throws {
    var parser = try #require(MultipartParser(contentType: "multipart/x-mixed-replace; boundary=b"))
    var output = MultipartOutput()
    Array("--b\n\nx\n".utf8).withUnsafeBytes { parser.add($0) { output.take($0) } }
    #expect(output.parts.map(\.body) == [Array("x".utf8)])
    parser.finish { output.take($0) }
    #expect(output.parts.map(\.body) == [Array("x\n".utf8)])
    let before = output
    Array("--b\n\ny\n--b--\n".utf8).withUnsafeBytes { parser.add($0) { output.take($0) } }
    parser.finish { output.take($0) }
    #expect(output == before)
  }

  @Test func `only bytes of a possible delimiter are held back`() throws {
    var parser = try #require(MultipartParser(contentType: "multipart/x-mixed-replace; boundary=b"))
    var output = MultipartOutput()
    for (text, expected) in [
      ("--b\n\n", ""), ("x\r", "x"), ("y", "x\ry"), ("\r\n-", "x\ry"), ("-a", "x\ry\r\n--a"),
      ("z\n--b ", "x\ry\r\n--az"), ("!", "x\ry\r\n--az\n--b !"),
    ] {
      Array(text.utf8).withUnsafeBytes { parser.add($0) { output.take($0) } }
      #expect(output.parts.last?.body == Array(expected.utf8))
    }
  }

  @Test(arguments: [(0, false), (1, true), (100_000, true)])
  func `header block above its limit is malformed`(_ excess: Int, _ isMalformed: Bool) throws {
    let value = String(
      repeating: "v", count: Limits.partHeadBytes.value - "A: \r\nB: 2\r\n\r\n".utf8.count)
    let first = "--frame\r\nA: 1\r\n\r\nx\r\n"
    let long = String(repeating: "v", count: excess)
    let text = Array("\(first)--frame\r\nA: \(value)\(long)\r\nB: 2\r\n\r\ny\r\n--frame--".utf8)
    for size in [1, 1000, text.count] {
      let pieces = stride(from: 0, to: text.count, by: size).map { text[$0..<min($0 + size, text.count)] }
      let output = try MultipartOutput.of(pieces, boundary: "frame")
      #expect(output.isMalformed == isMalformed)
      #expect(output.hasEnded == !isMalformed)
      #expect(output.parts.map(\.body) == (isMalformed ? ["x"] : ["x", "y"]).map { Array($0.utf8) })
    }
    // Many small header blocks do not add up to a large one.
    let many = String(repeating: first, count: 3000)
    #expect(try MultipartOutput.of([Array(many.utf8)[...]], boundary: "frame").parts.count == 3000)
  }
}

@Suite struct MultipartParserWalkTests {
  /// Pieces of test bodies: parts of delimiters, and a few other bytes.
  private static let morsels = [
    "\r", "\n", "\r\n", "-", "--", "--b", "\r\n--bounda", "\n--boundary", "\r\n--boundaryx", "boundary", " ",
    "\t", "x",
    "\r\n--boundary-", "\r\n--boundary \r", "\0\u{7F}",
  ].map { Array($0.utf8) }

  /// Returns a body without a delimiter, checked by a slow search over its lines.
  private func body(of end: [UInt8], using generator: inout SplitMix64) -> [UInt8] {
    while true {
      let count = Int.random(in: 0...12, using: &generator)
      let body = (0..<count).flatMap { _ in Self.morsels.randomElement(using: &generator) ?? [] }
      let lines = (body + end).split(separator: 0x0A, omittingEmptySubsequences: false)
      let isClean = lines.dropLast().allSatisfy { line in
        guard line.starts(with: "--boundary".utf8) else { return true }
        let rest = (line.last == 0x0D ? line.dropLast() : line).dropFirst(10)
        return !rest.starts(with: "--".utf8) && !rest.allSatisfy { $0 == 0x20 || $0 == 0x09 }
      }
      // A CR before the delimiter's LF would belong to its line end.
      let isJoined = end.count == 1 && body.last == 0x0D
      if isClean && !isJoined && !body.contains(Array("--boundary--".utf8)) { return body }
    }
  }

  private func cut(_ bytes: [UInt8], largest: Int, using generator: inout SplitMix64) -> [ArraySlice<UInt8>] {
    var pieces: [ArraySlice<UInt8>] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Int.random(in: 0...largest, using: &generator)
      pieces.append(rest.prefix(count))
      rest = rest.dropFirst(count)
    }
    return pieces
  }

  @Test(arguments: [UInt64(1), 2, 3, 4])
  func `pieces of any size give the same parts`(_ seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    for round in 0..<700 {
      let end = Bool.random(using: &generator) ? "\r\n" : "\n"
      var text = Array((Bool.random(using: &generator) ? "" : "preamble\(end)-- boundary\(end)").utf8)
      var expected = MultipartOutput(hasEnded: Bool.random(using: &generator))
      for index in 0..<Int.random(in: 0...5, using: &generator) {
        let fields = (0..<Int.random(in: 0...3, using: &generator)).map { "F\($0): \(index)\(end)" }
        let padding = String(repeating: " ", count: Int.random(in: 0...2, using: &generator))
        let body = body(of: Array(end.utf8), using: &generator)
        text += Array("--boundary\(padding)\(end)\(fields.joined())\(end)".utf8) + body + Array(end.utf8)
        expected.parts.append(.init(fields: fields.indices.map { "F\($0)=\(index)" }, body: body))
      }
      let tail = expected.hasEnded ? "--boundary--" : "--boundary"
      text += Array((tail + (Bool.random(using: &generator) ? "" : "\(end)e")).utf8)
      for largest in [text.count, 30, 5, 1] {
        let pieces = cut(text, largest: largest, using: &generator)
        let output = try MultipartOutput.of(pieces, boundary: "boundary")
        try #require(output == expected, "round \(round), pieces of \(largest): \(text)")
      }
    }
  }

  /// Any input: the parser does not crash, and the size of the pieces does not matter.
  @Test(arguments: [UInt64(5), 6])
  func `random input gives the same parts in pieces of any size`(_ seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    let morsels =
      Self.morsels
      + ["\r\n--boundary\r\n", "\n\n", "\r\n\r\n", "A: 1\r\n", "--boundary\n\n"].map { Array($0.utf8) }
    for round in 0..<1000 {
      let text = (0..<Int.random(in: 0...40, using: &generator)).flatMap { _ in
        morsels.randomElement(using: &generator) ?? []
      }
      let whole = try MultipartOutput.of([text[...]], boundary: "boundary")
      try #require(!whole.isOutOfOrder)
      for largest in [20, 3, 1] {
        let pieces = cut(text, largest: largest, using: &generator)
        let output = try MultipartOutput.of(pieces, boundary: "boundary")
        try #require(output == whole, "round \(round), pieces of \(largest): \(text)")
      }
    }
  }
}
