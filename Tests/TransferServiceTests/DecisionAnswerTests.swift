import JSON
import Testing
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

  /// A request as it is answered, and as it is kept.
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

  @Test(arguments: requests) func requestsAreKeptWithoutWhatIsSecret(_ given: String, _ kept: String) throws {
    #expect(
      try stored(#"{"request":\#(given)}"#, .taskWillPerformHTTPRedirection) == #"{"request":\#(kept)}"#)
    #expect(
      try stored(
        #"{"disposition":"useNewRequest","request":\#(given)}"#, .taskWillBeginDelayedRequest)
        == #"{"disposition":"useNewRequest","request":\#(kept)}"#)
  }

  @Test func whatHoldsNoRequestIsKeptAsItIs() throws {
    #expect(try stored(#"{"request":null}"#, .taskWillPerformHTTPRedirection) == #"{"request":null}"#)
    let goesOn = #"{"disposition":"continueLoading"}"#
    #expect(try stored(goesOn, .taskWillBeginDelayedRequest) == goesOn)
    #expect(
      try stored(#"{"disposition":"allow"}"#, .dataTaskDidReceiveResponse) == #"{"disposition":"allow"}"#)
  }
}
