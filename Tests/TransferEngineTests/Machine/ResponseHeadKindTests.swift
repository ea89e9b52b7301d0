import HTTPFields
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct ResponseHeadKindTests {
  /// The first head is the proxy's, then follow those of the origin. All heads after the response's are ignored.
  @Test(
    arguments: [
      (200, false, false, .connect), (407, false, false, .connect), (100, false, true, .connect),
      (103, true, false, .informational), (104, true, true, .informational), (200, true, false, .answer),
      (200, true, true, .surplus), (401, true, false, .intermediate), (404, true, false, .answer),
      (101, true, true, .surplus),
    ] as [(Int, Bool, Bool, ResponseHeadKind)])
  func `kinds of heads`(_ status: Int, _ isPastConnect: Bool, _ hasAnswer: Bool, _ expected: ResponseHeadKind)
  {
    let head = ResponseHead(httpVersion: "HTTP/1.1", status: status, headers: HTTPHeaders())
    let role = ResponseHeadKind(of: head, isPastConnect: isPastConnect, hasAnswer: hasAnswer) {
      $0.status == 401
    }
    #expect(role == expected)
  }

  @Test func `response with an open end is broken`() {
    var head = ResponseHead(httpVersion: "HTTP/1.1", status: 200, headers: HTTPHeaders())
    head.headers.append("Content-Length", "1, 2")
    guard
      case .malformed(.cannotParseResponse, _) = ResponseHeadKind(
        of: head, isPastConnect: true, hasAnswer: false, isLeg: { _ in true })
    else {
      Issue.record("a head with two lengths was not refused")
      return
    }
  }
}
