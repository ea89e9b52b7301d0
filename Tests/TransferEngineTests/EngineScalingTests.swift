import HTTPFields
import TestSupport
import Testing

@testable import TransferEngine

@Suite(.serialized, .blocking) struct EngineScalingTests {
  private static func parse(_ lines: [String]) -> (heads: Int, excess: String?) {
    var parser = ResponseHeadParser()
    var heads = 0
    for line in lines where Array((line + "\r\n").utf8).withUnsafeBytes({ parser.add($0) }) != nil {
      heads += 1
    }
    return (heads, parser.excess)
  }

  @Test(arguments: ["X: y", " folded", "nothing", "set-cookie: a=b"]) func `heads scale`(_ line: String) {
    let ratio = Scaling.ratio(of: { ["HTTP/1.1 200 OK", "A: b"] + Array(repeating: line, count: $0) + [""] })
    {
      _ = Self.parse($0)
    }
    #expect(ratio < Scaling.limit)
  }

  @Test func `folded fields are joined in linear time`() {
    let ratio = Scaling.ratio(of: {
      Array(repeating: Array(" \(String(repeating: "x", count: 20))".utf8), count: $0)
    }) {
      lines in
      var headers = HTTPHeaders((0..<100).map { .init(name: "X-\($0)", value: "v") })
      for line in lines { line.withUnsafeBytes { headers.append(line: $0) } }
    }
    #expect(ratio < Scaling.limit)
  }

  @Test(
    arguments: [
      (1000, "X-A: b", nil), (1001, "X-A: b", "the head of the response is too large"),
      (250, "X-A: " + String(repeating: "a", count: 1000), nil),
      (270, "X-A: " + String(repeating: "a", count: 1000), "the head of the response is too large"),
    ] as [(Int, String, String?)])
  func `size of a head is limited`(_ count: Int, _ line: String, _ excess: String?) {
    let parsed = Self.parse(["HTTP/1.1 200 OK"] + Array(repeating: line, count: count) + [""])
    #expect(parsed.excess == excess && parsed.heads == (excess == nil ? 1 : 0))
  }

  @Test func `trailer fields and informational responses are limited`() {
    let head = ["HTTP/1.1 200 OK", ""]
    #expect(Self.parse(head + Array(repeating: "X-T: y", count: 5000)).excess == nil)
    #expect(
      Self.parse(head + Array(repeating: "X-T: y", count: 20_000)).excess
        == "the trailer fields have more than 65536 bytes")
    let hints = Array(repeating: ["HTTP/1.1 103 Early Hints", "Link: </a>", ""], count: 1000).flatMap(\.self)
    #expect(Self.parse(hints + head).heads == 1001)
    #expect(
      Self.parse(hints + hints + head).excess
        == "more than 1000 informational responses came before the final response")
  }

  @Test(arguments: [
    "Basic realm=\"a\", ", "Basic ", "a", ",", "Digest a=", "\"", "Negotiate a==, ", "a/", "a b/ ", "=\"\\\"",
  ])
  func `challenges are parsed in linear time`(_ piece: String) {
    let ratio = Scaling.ratio(of: { [String(repeating: piece, count: $0)] }) { _ = HTTPChallenge.parse($0) }
    #expect(ratio < Scaling.limit)
  }

  @Test(
    arguments: [
      "\r\n--b\r\n\r\nbody", "\r\n--b\r\nX: y\r\n z\r\n\r\n", "\r\n--", "\r\n", "x", "\r", "\r\n--b ", "-",
    ], [1, 7, 65_536])
  func `multipart is parsed in linear time`(_ piece: String, _ size: Int) throws {
    let ratio = try Scaling.ratio(of: { Array(("--b\r\n\r\n" + String(repeating: piece, count: $0)).utf8) }) {
      bytes in
      var parser = try #require(MultipartParser(contentType: "multipart/x-mixed-replace; boundary=b"))
      bytes.withUnsafeBytes { all in
        for start in stride(from: 0, to: all.count, by: size) {
          parser.add(UnsafeRawBufferPointer(rebasing: all[start..<min(start + size, all.count)])) { _ in }
        }
      }
      parser.finish { _ in }
    }
    #expect(ratio < Scaling.limit)
  }
}
