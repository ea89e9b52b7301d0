import HTTPFields
import Limits
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct ResponseHeadParserTests {
  /// Parses the lines, each with its line end, as libcurl delivers them.
  private func heads(_ lines: [String], end: String = "\r\n") -> [ResponseHead] {
    var parser = ResponseHeadParser()
    return lines.compactMap { line in
      Array((line + end).utf8).withUnsafeBytes { parser.add($0) }
    }
  }

  /// After a pause, libcurl delivers any number of lines at once.
  @Test(arguments: 1...6) func `lines that arrive together are parsed`(_ count: Int) {
    let lines = ["HTTP/1.1 103 Early", "A: 1", "", "HTTP/1.1 200 OK", "B: 2", ""].map { $0 + "\r\n" }
    var (parser, heads) = (ResponseHeadParser(), [ResponseHead]())
    for start in stride(from: 0, to: lines.count, by: count) {
      let piece = Array(lines[start..<min(start + count, lines.count)].joined().utf8)
      let isTaken = piece.withUnsafeBytes { piece in
        ResponseHeadParser.lines(in: piece) { line in
          if let head = parser.add(line) { heads.append(head) }
          return true
        }
      }
      #expect(isTaken)
    }
    #expect(heads.map(\.status) == [103, 200])
    #expect(heads.map(\.headers.fields) == [[.init(name: "A", value: "1")], [.init(name: "B", value: "2")]])
  }

  /// Otherwise a server could exceed the limit of fields.
  @Test func statusLineInsideHeadDoesNotResetLimits() {
    let some = (0..<Limits.fields.value).map { "a: \($0)" }
    #expect(heads(["HTTP/1.1 200 OK"] + some + [""]).first?.headers.fields.count == Limits.fields.value)
    #expect(heads(["HTTP/1.1 200 OK"] + some + ["HTTP/1.1 404 Not Found", "b: 1", ""]) == [])
    let head = heads(["HTTP/1.1 200 OK", "a: 1", "HTTP/1.1 404 Not Found", "b: 1", ""])
    #expect(head.map(\.status) == [200] && head.first?.headers.fields.map(\.name) == ["A", "B"])
  }

  @Test(
    arguments: [
      ([0xFF], "\u{FF}"), ([0xC3], "\u{C3}"), ([0xC3, 0xA9], "\u{E9}"), ([0x61, 0x80], "a\u{80}"),
      ([0xC3, 0xA9, 0xFF], "\u{C3}\u{A9}\u{FF}"), ([0xC0, 0x80], "\u{C0}\u{80}"),
      ([0xF4, 0x90, 0x80, 0x80], "\u{F4}\u{90}\u{80}\u{80}"),
      ([0xE2, 0x82, 0xAC], "\u{20AC}"), ([0xE2, 0x82], "\u{E2}\u{82}"),
    ] as [([UInt8], String)]) func valueThatIsNotUTF8IsReadAsISO88591(_ bytes: [UInt8], _ expected: String)
  {
    var parser = ResponseHeadParser()
    var heads: [ResponseHead] = []
    for line in [Array("HTTP/1.1 200 OK".utf8), Array("a: ".utf8) + bytes, []] {
      if let head = (line + [0x0A]).withUnsafeBytes({ parser.add($0) }) { heads.append(head) }
    }
    #expect(heads.first?.headers["a"] == expected)
  }

  @Test func `lines are delivered until one is refused`() {
    var seen: [String] = []
    let isTaken = Array("a\nb\nc".utf8).withUnsafeBytes { piece in
      ResponseHeadParser.lines(in: piece) { line in
        seen.append(String(decoding: line, as: UTF8.self))
        return seen.count < 2
      }
    }
    #expect(!isTaken && seen == ["a\n", "b\n"])
    seen = []
    _ = Array("a\nb".utf8).withUnsafeBytes { piece in
      ResponseHeadParser.lines(in: piece) { line in
        seen.append(String(decoding: line, as: UTF8.self))
        return true
      }
    }
    #expect(seen == ["a\n", "b"])
  }

  private func fields(_ lines: String...) -> [String] {
    heads(["HTTP/1.1 200 OK"] + lines + [""]).first?.headers.fields.map { "\($0.name)=\($0.value)" } ?? []
  }

  @Test(arguments: [
    ("HTTP/1.1 200 OK", "HTTP/1.1", 200), ("HTTP/1.0 404 Not Found", "HTTP/1.0", 404),
    ("HTTP/2 204 ", "HTTP/2", 204),
    ("HTTP/2 204", "HTTP/2", 204), ("HTTP/1.1  503 x", "HTTP/1.1", 503), ("HTTP/1.1", "HTTP/1.1", 0),
    ("HTTP/1.1 abc", "HTTP/1.1", 0), ("HTTP/3 103 Early Hints", "HTTP/3", 103),
  ])
  func `status line is parsed`(_ line: String, _ version: String, _ status: Int) {
    for end in ["\r\n", "\n"] {
      let heads = heads([line, ""], end: end)
      #expect(heads == [ResponseHead(httpVersion: version, status: status, headers: HTTPHeaders())])
    }
  }

  @Test func `fields are parsed`() {
    #expect(
      fields("A: 1", "B:2", "C:   3 \t", "D:", "E: a:b", "A: 4") == [
        "A=1", "B=2", "C=3", "D=", "E=a:b", "A=4",
      ])
    #expect(fields("nothing", ": x", "X: 1") == ["X=1"])
    #expect(fields("A : 1", "b\t : 2", "Content-Length : 3") == ["A=1", "B=2", "Content-Length=3"])
    #expect(fields("X: é") == ["X=é"])
  }

  /// A value that is not UTF-8 is ISO 8859-1 (RFC 9110 §5.5). In a URI the bytes are percent-encoded instead.
  @Test(
    arguments: [
      ("X", [0x2F, 0xE9, 0x80], "/\u{E9}\u{80}"), ("X", [0xC3, 0xA9], "\u{E9}"),
      ("X", [0xC3, 0xA9, 0xE9], "\u{C3}\u{A9}\u{E9}"),
      ("location", [0x2F, 0xE9, 0x3F, 0xFF, 0x25], "/%E9?%FF%"), ("Location", [0x2F, 0xC3, 0xA9], "/\u{E9}"),
      ("Content-Location", [0x2F, 0xC3, 0xA9, 0xE9], "/%C3%A9%E9"),
    ] as [(String, [UInt8], String)])
  func `bytes that are not UTF8 are decoded`(_ name: String, _ value: [UInt8], _ expected: String) {
    for fold in [[], [0x0D, 0x0A, 0x20]] as [[UInt8]] {
      var parser = ResponseHeadParser()
      var head: ResponseHead?
      let lines = Array("HTTP/1.1 302 Found\r\n\(name): ".utf8) + fold + value + Array("\r\n\r\n".utf8)
      _ = lines.withUnsafeBytes { bytes in
        ResponseHeadParser.lines(in: bytes) { line in
          head = parser.add(line) ?? head
          return true
        }
      }
      #expect(head?.headers[name] == expected)
    }
  }

  @Test func `folded line continues the previous field`() {
    #expect(fields("A: one", "  two", "\tthree  ", "B: x") == ["A=one two three", "B=x"])
    #expect(fields("  nobody", "A: 1") == ["A=1"])
    #expect(fields("A: 1", " B: 2") == ["A=1 B: 2"])
    #expect(fields("A:", " one") == ["A=one"])
  }

  @Test func `each head is returned once`() {
    let all = heads([
      "HTTP/1.1 100 Continue", "", "HTTP/1.1 103 Early Hints", "Link: </a>", "", "HTTP/1.1 200 OK", "X: 1",
      "",
    ])
    #expect(all.map(\.status) == [100, 103, 200])
    #expect(all.map(\.isInformational) == [true, true, false])
    #expect(all.map { $0.headers.fields.count } == [0, 1, 1])
  }

  @Test func `trailer fields are ignored`() {
    let all = heads(["HTTP/1.1 200 OK", "X: 1", "", "Digest: abc", " folded", "", "", "Other: 1", ""])
    #expect(all.count == 1)
    #expect(all.first?.headers.fields.map(\.name) == ["X"])
  }

  @Test func `fields without a status line are ignored`() {
    #expect(heads(["X: 1", "", ""]).isEmpty)
  }

  @Test(arguments: [
    ("content-type", "Content-Type"), ("etag", "ETag"), ("www-authenticate", "WWW-Authenticate"), ("x", "X"),
    ("x-a-b", "X-A-B"), ("X-request-ID", "X-request-ID"), ("ETAG", "ETAG"), ("x--y", "X--Y"), ("-x", "-X"),
    ("1st", "1st"), ("", ""),
  ])
  func `lower case name gets its usual spelling`(_ name: String, _ expected: String) {
    let canonical = Array(name.utf8).withUnsafeBytes { ResponseHeadParser.canonical($0) }
    #expect(canonical == expected)
    if !name.isEmpty { #expect(fields("\(name): v") == ["\(expected)=v"]) }
  }

  @Test(arguments: [
    (100, true), (102, true), (101, false), (199, true), (200, false), (99, false), (0, false),
  ])
  func `status 101 is not informational`(_ status: Int, _ expected: Bool) {
    #expect(
      ResponseHead(httpVersion: "HTTP/1.1", status: status, headers: HTTPHeaders()).isInformational
        == expected)
  }

  @Test(arguments: [200, 201, 300, 301, 302, 303, 304, 307, 308, 309, 404])
  func `redirect needs a location`(_ status: Int) {
    var head = ResponseHead(httpVersion: "HTTP/1.1", status: status, headers: HTTPHeaders())
    #expect(!head.isRedirect)
    head.headers.append("location", "/x")
    #expect(head.isRedirect == [301, 302, 303, 307, 308].contains(status))
  }
}
