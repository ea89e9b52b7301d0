import JSON
import Testing
import TransferModel

@testable import TransferAPI

@Suite struct SessionPayloadTests {
  private func read(_ text: String) throws -> SessionPayload {
    try SessionPayload(JSONParser.parse(Array(text.utf8)))
  }

  @Test(arguments: [
    "{}", #"{"type":"default"}"#, #"{"type":null,"identifier":null,"configuration":null,"delegate":null}"#,
  ])
  func theLeastThatCanBeSent(_ text: String) throws {
    let payload = try read(text)
    #expect(payload.description == nil)
    #expect(payload.configuration == SessionConfiguration())
    #expect(payload.delegate == nil)
  }

  @Test func everythingThatCanBeSent() throws {
    let payload = try read(
      #"""
      {"type":"default","description":"d","configuration":{"httpMaximumConnectionsPerHost":3},
       "delegate":{"webhook":{"url":"https://b/hook","events":["task.didCreate"]}}}
      """#)
    #expect(payload.description == "d")
    #expect(payload.configuration.httpMaximumConnectionsPerHost == 3)
    #expect(payload.delegate?.webhook == Webhook(url: "https://b/hook", secret: nil))
    #expect(payload.delegate?.events == [.taskDidCreate])
  }

  @Test(arguments: [
    ("[]", [""]), ("null", [""]), (#"{"type":"ephemeral"}"#, ["/type"]),
    (#"{"type":"background"}"#, ["/type"]),
    (#"{"type":"x"}"#, ["/type"]), (#"{"type":1}"#, ["/type"]), (#"{"identifier":"x"}"#, ["/identifier"]),
    (#"{"description":{}}"#, ["/description"]), (#"{"configuration":1}"#, ["/configuration"]),
    (#"{"configuration":{"x":1}}"#, ["/configuration/x"]),
    (
      #"{"configuration":{"httpMaximumConnectionsPerHost":0}}"#,
      ["/configuration/httpMaximumConnectionsPerHost"]
    ),
    (
      #"{"configuration":{"httpAdditionalHeaders":{"Host":"x"}}}"#,
      ["/configuration/httpAdditionalHeaders/Host"]
    ),
    (#"{"delegate":"x"}"#, ["/delegate"]), (#"{"delegate":{"caching":"ask"}}"#, ["/delegate/caching"]),
    (#"{"delegate":{"webhook":{}}}"#, ["/delegate/webhook/url"]),
    (#"{"delegate":{"webhook":{"url":"ftp://b/"}}}"#, ["/delegate/webhook/url"]),
    (#"{"delegate":{"webhook":{"url":"http://u@b/"}}}"#, ["/delegate/webhook/url"]),
    (#"{"delegate":{"webhook":{"url":"http://b/","secret":"x"}}}"#, ["/delegate/webhook/secret"]),
    (#"{"delegate":{"webhook":{"url":"http://b/","events":["x"]}}}"#, ["/delegate/webhook/events/0"]),
    (
      #"{"type":"x","description":1,"configuration":{"x":1},"delegate":{"y":1},"z":1}"#,
      ["/type", "/description", "/configuration/x", "/delegate/y", "/z"]
    ),
  ])
  func namesTheFault(_ text: String, _ expected: [String]) throws {
    let problem = try #require(throws: Problem.self) { try read(text) }
    #expect(problem.kind == .invalidRequest)
    #expect(problem.violations.map(\.pointer) == expected)
  }
}
