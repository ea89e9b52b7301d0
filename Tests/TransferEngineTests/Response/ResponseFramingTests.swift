import HTTPFields
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct ResponseFramingTests {
  private func fault(_ status: Int, _ fields: [(String, String)]) -> URLErrorCode? {
    let headers = HTTPHeaders(fields.map { .init(name: $0.0, value: $0.1) })
    return ResponseHead(httpVersion: "HTTP/1.1", status: status, headers: headers).framingFault()?.code
  }

  @Test(arguments: [
    ["0"], ["5"], ["5", "5"], ["5, 5"], ["05", "5"], ["9223372036854775807"], [],
  ]) func `unambiguous Content Length is accepted`(_ lengths: [String]) {
    #expect(fault(200, lengths.map { ("Content-Length", $0) }) == nil)
  }

  @Test(arguments: [
    ["99999999999999999999999"], ["9223372036854775808"], ["-1"], ["+5"], ["5 5"], ["0x5"], ["5", "6"],
    ["5, 6"], ["five"], ["5;"], ["٥"],
  ]) func `ambiguous or invalid Content Length is refused`(_ lengths: [String]) {
    #expect(fault(200, lengths.map { ("content-length", $0) }) == .cannotParseResponse)
  }

  @Test(arguments: [
    ("chunked", true), ("Chunked", true), ("identity", true), ("gzip, chunked", false), ("gzip", false),
    ("chunked, chunked", false), ("chunked, gzip", false),
  ]) func `only chunked and identity are accepted as transfer codings`(_ coding: String, _ isKnown: Bool) {
    #expect((fault(200, [("Transfer-Encoding", coding)]) == nil) == isKnown)
  }

  /// RFC 9112 §6.3.
  @Test func `chunks override a Content Length`() {
    #expect(fault(200, [("Transfer-Encoding", "chunked"), ("Content-Length", "many")]) == nil)
  }

  @Test(
    arguments: [
      (["Content-Length : 5"], true), (["content-length\t: 5"], true), (["Content-Length\u{B}: 5"], true),
      (["Transfer-Encoding : chunked"], true), (["Transfer-Encoding:", " chunked"], true),
      (["Transfer-Encoding: chunked", "\t, gzip"], true),
      (["Content-Length: 5", "Content-Length : 5"], true),
      (["Content-Length: 5"], false), (["Content-Length: 5", " "], false),
      (["Content-Type : text/css"], false),
      (["X-Content-Length : 5"], false), (["X-A: 1", " Content-Length: 5"], false), (["X-A:", " b"], false),
    ] as [([String], Bool)])
  func `framing fields that libcurl ignores are refused`(_ lines: [String], _ areHidden: Bool) {
    var head = ResponseHead(httpVersion: "HTTP/1.1", status: 200, headers: HTTPHeaders())
    for line in lines { Array(line.utf8).withUnsafeBytes { head.append(line: $0) } }
    #expect(head.hidesFraming == areHidden)
    #expect((head.framingFault()?.code == .cannotParseResponse) == areHidden)
    #expect(head.framingFault(endsHere: true) == nil)
  }

  @Test func `unrequested upgrade is refused`() {
    #expect(fault(101, [("Upgrade", "h2c")]) == .badServerResponse)
    #expect(fault(200, []) == nil && fault(304, []) == nil)
  }

  @Test(arguments: [(0, false), (99, false), (100, true), (999, true), (1000, false), (2000, false)])
  func `status must have three digits`(_ status: Int, _ isOne: Bool) {
    #expect((fault(status, []) == nil) == isOne)
  }
}
