import HTTPFields
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct HeadRoleTests {
  /// What comes first says who speaks: the proxy, then the origin once; what is behind its head is nobody's.
  @Test(
    arguments: [
      (200, false, false, .connect), (407, false, false, .connect), (100, false, true, .connect),
      (103, true, false, .informational), (104, true, true, .informational), (200, true, false, .answer),
      (200, true, true, .surplus), (401, true, false, .leg), (404, true, false, .answer),
      (101, true, true, .surplus),
    ] as [(Int, Bool, Bool, HeadRole)])
  func roles(_ status: Int, _ isPastConnect: Bool, _ hasAnswer: Bool, _ expected: HeadRole) {
    let head = ResponseHead(httpVersion: "HTTP/1.1", status: status, headers: HTTPHeaders())
    let role = HeadRole(of: head, isPastConnect: isPastConnect, hasAnswer: hasAnswer) { $0.status == 401 }
    #expect(role == expected)
  }

  @Test func anAnswerWithoutAnEndIsBroken() {
    var head = ResponseHead(httpVersion: "HTTP/1.1", status: 200, headers: HTTPHeaders())
    head.headers.append("Content-Length", "1, 2")
    guard
      case .broken(.cannotParseResponse, _) = HeadRole(
        of: head, isPastConnect: true, hasAnswer: false, isLeg: { _ in true })
    else {
      Issue.record("two lengths are none")
      return
    }
  }
}
