import HTTPServer
import HTTPTypes
import JSON
import TestSupport
import Testing
import TransferModel

@testable import TransferAPI

@Suite(.serialized, .blocking) struct APIScalingTests {
  /// Many lines, and one long line, in pieces of several sizes.
  @Test(arguments: ["{}\n", "\n", "x", " \r\n"], [1, 100, 65_536]) func lines(_ piece: String, _ size: Int)
    throws
  {
    let ratio = try Scaling.ratio(of: { Array(String(repeating: piece, count: $0).utf8) }) { bytes in
      var splitter = LineSplitter(maximumLine: 1 << 30)
      for start in stride(from: 0, to: bytes.count, by: size) {
        splitter.add(Array(bytes[start..<min(start + size, bytes.count)]))
        while try splitter.next() != nil {}
      }
      _ = splitter.finish()
    }
    #expect(ratio < Scaling.limit)
  }

  @Test(arguments: ["a=b&", "&", "=", "%41", "+", "a"]) func `query work grows linearly`(_ piece: String) {
    let ratio = Scaling.ratio(of: { String(repeating: piece, count: $0) }) { query in
      let head = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/")
      let context = RequestContext(
        request: ServerRequest(head: head, path: "/", query: query, body: RequestBody([]), localPort: 1),
        parameters: [:], requestID: "r", tenant: nil)
      try? context.allowQuery("b", "c")
    }
    #expect(ratio < Scaling.limit)
  }

  @Test(arguments: ["\"a\",", "text/html;q=0,", ",", ";", "/a", "bytes=1-2,", "wait=1,"])
  func `work for header fields and paths grows linearly`(_ piece: String) {
    let ratio = Scaling.ratio(of: { String(repeating: piece, count: $0) }) { text in
      _ = EntityTag.matches(text, "\"x\"")
      _ = EntityTag.permits(text, "\"x\"")
      _ = ContentNegotiation.accepts(text, "application/json")
      _ = RequestedRange.parse("bytes=" + text, size: 10)
      _ = Router(TransferAPI.routes).match(method: "GET", path: text)
    }
    #expect(ratio < Scaling.limit)
  }

  @Test func `problem is small for any number of faults`() throws {
    let members = (0..<50_000).map { #""\#(String(repeating: "m", count: 60))\#($0)":1"# }.joined(
      separator: ",")
    let value = try JSONParser.parse(Array("{\(members)}".utf8))
    let problem = try #require(throws: Problem.self) {
      try TaskPayload.specification(value) { _ in
        TaskSpecification(kind: .data, request: TransferRequest(url: ""))
      }
    }
    #expect(problem.violations.count == 100 && problem.omittedViolations == 49_902)
    #expect(problem.json.count < 20_000)
    #expect(String(decoding: problem.json, as: UTF8.self).hasSuffix(#","omittedErrors":49902}"#))
    #expect(
      problem.limitingViolations(at: 10).violations.count == 10
        && problem.limitingViolations(at: 10).omittedViolations == 49_992)
  }
}
