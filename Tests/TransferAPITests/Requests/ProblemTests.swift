import JSON
import Testing

@testable import TransferAPI

@Suite struct ProblemTests {
  private func text(_ problem: Problem) -> String { String(decoding: problem.json, as: UTF8.self) }

  @Test func `problem has a type, a title, a status and a detail`() {
    #expect(
      text(Problem(.notFound))
        == #"{"type":"/problems/not-found","title":"There is no such resource","status":404}"#)
    #expect(
      text(Problem(.conflict, "say \"why\""))
        == #"{"type":"/problems/conflict","title":"The resource's state does not allow the request","status":409,"#
        + #""detail":"say \"why\""}"#)
  }

  @Test func `problem lists every violation`() {
    var problem = Problem(
      .invalidRequest, violations: [.init(pointer: "/a~1b", detail: "x"), .init(pointer: "", detail: "y")])
    problem.line = 3
    #expect(
      text(problem.with("Retry-After", "1"))
        == #"{"type":"/problems/invalid-request","title":"The request is not valid","status":400,"line":3,"#
        + #""errors":[{"pointer":"/a~1b","detail":"x"},{"pointer":"","detail":"y"}]}"#)
  }

  @Test func `with adds a field to a copy`() {
    let plain = Problem(.draining)
    let dressed = plain.with("A", "1").with("B", "2")
    #expect(plain.fields.isEmpty)
    #expect(dressed.fields.map(\.name) == ["A", "B"])
    #expect(dressed.fields.map(\.value) == ["1", "2"])
  }

  @Test func `syntax error names the byte`() throws {
    let error = try #require(throws: JSONSyntaxError.self) { try JSONParser.parse(Array("{\"a\"}".utf8)) }
    let problem = Problem(error)
    #expect(problem.kind == .malformedJSON)
    #expect(problem.detail == "expected ':', at byte 4")
  }

  @Test func `slugs are unique and readable`() {
    #expect(Set(ProblemKind.all.map(\.slug)).count == ProblemKind.all.count)
    for kind in ProblemKind.all {
      #expect((400...599).contains(kind.status))
      #expect(!kind.title.isEmpty && !kind.meaning.isEmpty && !kind.remedy.isEmpty)
      #expect(kind.slug.utf8.allSatisfy { $0 == UInt8(ascii: "-") || (0x61...0x7A).contains($0) })
    }
  }

  @Test(arguments: [
    ProblemKind.invalidRequest, .malformedJSON, .malformedHTTP, .unauthorized, .hostNotAllowed,
    .originNotAllowed,
    .notFound, .bodyNotFound, .methodNotAllowed, .notAcceptable, .conflict, .bodyNotReady,
    .idempotencyInProgress,
    .payloadTooLarge, .unsupportedMediaType, .rangeNotSatisfiable, .idempotencyMismatch, .quotaExceeded,
    .internalError,
    .draining, .storeUnavailable, .storeFull,
  ])
  func `every problem kind is listed`(_ kind: ProblemKind) { #expect(ProblemKind.all.contains(kind)) }
}
