import HTTPFields
import JSON
import Limits
import Testing
import TransferCore
import TransferModel

@testable import TransferService

@Suite struct DecisionAnswerTests {
  private func stored(_ text: String, _ type: EventType) throws -> String {
    let value = try JSONParser.parse(Array(text.utf8))
    let violations = Violations()
    let answer = try #require(DecisionAnswer(value, to: .init(type: type), violations))
    #expect(violations.all.isEmpty)
    return String(decoding: answer.stored(value), as: UTF8.self)
  }

  /// A request as answered, and as stored.
  private static let requests = [
    (
      #"{"url":"http://a.test/","headers":{"Authorization":"Bearer s3cret","X":"1"}}"#,
      #"{"url":"http://a.test/","headers":{"Authorization":"(redacted)","X":"1"}}"#
    ),
    (
      #"{"headers":{"proxy-AUTHORIZATION":"Basic s3cret"},"method":"PUT","url":"http://a.test/x"}"#,
      #"{"headers":{"proxy-AUTHORIZATION":"(redacted)"},"method":"PUT","url":"http://a.test/x"}"#
    ),
    (#"{"url":"http://alice:s3cret@a.test/x?y=1"}"#, #"{"url":"http://a.test/x?y=1"}"#),
    (#"{"url":"http://alice@a.test/x"}"#, #"{"url":"http://a.test/x"}"#),
    (#"{"url":"HTTP://A.test","body":{"text":"x"}}"#, #"{"url":"HTTP://A.test","body":{"text":"x"}}"#),
  ]

  @Test(arguments: requests) func `stored requests have no secrets`(_ given: String, _ kept: String) throws {
    #expect(
      try stored(#"{"request":\#(given)}"#, .taskWillPerformHTTPRedirection) == #"{"request":\#(kept)}"#)
    #expect(
      try stored(
        #"{"disposition":"useNewRequest","request":\#(given)}"#, .taskWillBeginDelayedRequest)
        == #"{"disposition":"useNewRequest","request":\#(kept)}"#)
  }

  @Test(arguments: [#"{"credential":{"user":"u","password":"p"}}"#, #"{"credential":null}"#])
  func `credential without a disposition is a known field`(_ text: String) throws {
    let violations = Violations()
    var shown = DecisionAnswer.DecisionContext(type: .taskDidReceiveChallenge)
    shown.method = .httpBasic
    #expect(DecisionAnswer(try JSONParser.parse(Array(text.utf8)), to: shown, violations) == nil)
    #expect(violations.all.map(\.pointer) == ["/disposition"])
  }

  private static let shown = HTTPHeaders([
    .init(name: "Content-Type", value: "a/b"), .init(name: "ETag", value: "\"1\""),
    .init(name: "Connection", value: "close"),
  ])

  private func caching(_ text: String) throws -> (DecisionAnswer?, [String]) {
    let violations = Violations()
    var shown = DecisionAnswer.DecisionContext(type: .dataTaskWillCacheResponse)
    shown.headers = Self.shown
    let answer = DecisionAnswer(try JSONParser.parse(Array(text.utf8)), to: shown, violations)
    return (answer, violations.all.map(\.pointer))
  }

  @Test func `response can be stored with other header fields`() throws {
    guard
      case (.caching(.allowed, headers: nil)?, []) = try caching(
        #"{"storagePolicy":"allowed","response":null}"#)
    else { return #expect(Bool(false)) }
    // A fixed field may be returned unchanged.
    let text =
      #"{"storagePolicy":"allowedInMemoryOnly","response":{"headers":{"X":"1","etag":"\"1\"","Connection":"close"}}}"#
    guard case (.caching(.allowedInMemoryOnly, let headers?)?, []) = try caching(text) else {
      return #expect(Bool(false))
    }
    #expect(headers["X"] == "1" && !headers.contains("Content-Type"))
  }

  @Test(arguments: [
    (#""response":{"headers":{"ETag":"\"2\""}}"#, "/response/headers/ETag"),
    (#""response":{"headers":{"Content-Length":"7"}}"#, "/response/headers/Content-Length"),
    (#""response":{"headers":{"connection":"keep-alive"}}"#, "/response/headers/connection"),
    (#""response":{"headers":{"Set-Cookie":"a=b"}}"#, "/response/headers/Set-Cookie"),
    (#""response":{"headers":{"X":"1\r\nY: 2"}}"#, "/response/headers/X"),
    (#""response":{"headers":{"X Y":"1"}}"#, "/response/headers/X Y"),
    (#""response":{"headers":{"X":1}}"#, "/response/headers/X"),
    (#""response":{"headers":[]}"#, "/response/headers"),
    (#""response":{}"#, "/response/headers"), (#""response":"x""#, "/response"),
    (#""response":{"headers":{},"status":404}"#, "/response/status"),
    (#""response":{"headers":{},"userInfo":{}}"#, "/response/userInfo"), (#""userInfo":1"#, "/userInfo"),
  ])
  func `fixed or invalid header fields are refused`(_ member: String, _ place: String) throws {
    #expect(try caching(#"{"storagePolicy":"allowed",\#(member)}"#).1.contains(place))
  }

  @Test func `answer with header fields requires a storage policy that stores`() throws {
    #expect(try caching(#"{"storagePolicy":"notAllowed","response":{"headers":{}}}"#).1 == ["/response"])
    #expect(try caching(#"{"response":{"headers":{}}}"#).1 == ["/storagePolicy"])
    let large = String(repeating: "x", count: Limits.fieldBytes.value)
    let many = (0...Limits.fields.value).map { #""X\#($0)":"1""# }.joined(separator: ",")
    for (headers, place) in [(#""X":"\#(large)""#, "/response/headers/X"), (many, "/response/headers")] {
      let text = #"{"storagePolicy":"allowed","response":{"headers":{\#(headers)}}}"#
      #expect(try caching(text).1 == [place])
    }
  }

  @Test func `answer without a request is stored unchanged`() throws {
    #expect(try stored(#"{"request":null}"#, .taskWillPerformHTTPRedirection) == #"{"request":null}"#)
    let goesOn = #"{"disposition":"continueLoading"}"#
    #expect(try stored(goesOn, .taskWillBeginDelayedRequest) == goesOn)
    #expect(
      try stored(#"{"disposition":"allow"}"#, .dataTaskDidReceiveResponse) == #"{"disposition":"allow"}"#)
  }
}
