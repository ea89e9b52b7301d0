import JSON
import Testing
import TransferModel
import TransferService

@testable import TransferAPI

@Suite struct SessionPayloadTests {
  private func read(_ text: String) async throws -> SessionPayload {
    try await SessionPayload(JSONParser.parse(Array(text.utf8))) { name in
      guard name == "slow" else { return nil }
      var configuration = SessionConfiguration()
      configuration.timeoutIntervalForRequest = 300
      configuration.waitsForConnectivity = true
      return configuration
    }
  }

  @Test func `session starts with the named configuration`() async throws {
    let payload = try await read(#"{"configuration":{"named":"slow","waitsForConnectivity":false}}"#)
    #expect(payload.configuration.timeoutIntervalForRequest == 300)
    #expect(!payload.configuration.waitsForConnectivity)
  }

  @Test func `session types are read`() async throws {
    #expect(try await read(#"{"type":"ephemeral"}"#).type == .ephemeral)
    #expect(try await read("{}").type == .default)
  }

  @Test func `background session is read`() async throws {
    let identifier = String(repeating: "é", count: 127)
    let payload = try await read(
      #"""
      {"type":"background","identifier":"\#(identifier)",
       "configuration":{"retry":{"maximumAttempts":3},"urlCache":null,"waitsForConnectivity":false},
       "delegate":{}}
      """#)
    #expect(payload.identifier == identifier && payload.configuration.retry?.maximumAttempts == 3)
    let specification = payload.specification
    #expect(specification.type == .background && specification.identifier == identifier)
    #expect(specification.configuration == payload.configuration)
  }

  @Test(arguments: [
    "{}", #"{"type":"default"}"#, #"{"description":null,"identifier":null,"delegate":null}"#,
  ])
  func `minimal payload has the defaults`(_ text: String) async throws {
    let payload = try await read(text)
    #expect(payload.description == nil)
    #expect(payload.configuration == SessionConfiguration())
    #expect(payload.delegate == nil)
  }

  @Test func `payload with all members is read`() async throws {
    let payload = try await read(
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
    ("[]", [""]), ("null", [""]), (#"{"type":null,"configuration":null}"#, ["/type", "/configuration"]),
    (#"{"configuration":{"named":null}}"#, ["/configuration/named"]),
    (#"{"configuration":{"named":"other"}}"#, ["/configuration/named"]),
    (#"{"configuration":{"retry":{"maximumAttempts":0}}}"#, ["/configuration/retry/maximumAttempts"]),
    (
      #"{"type":"ephemeral","configuration":{"urlCache":{"diskCapacity":1}}}"#,
      ["/configuration/urlCache/diskCapacity"]
    ),
    (#"{"type":"background","delegate":{}}"#, ["/identifier"]),
    (#"{"type":"background"}"#, ["/identifier", "/delegate"]),
    (#"{"type":"background","identifier":"a","delegate":null}"#, ["/delegate"]),
    (#"{"type":"background","identifier":"","delegate":{}}"#, ["/identifier"]),
    (#"{"type":"background","identifier":null,"delegate":{}}"#, ["/identifier"]),
    (#"{"type":"background","identifier":7,"delegate":{}}"#, ["/identifier"]),
    (#"{"type":"background","identifier":"a\nb","delegate":{}}"#, ["/identifier"]),
    (#"{"type":"background","identifier":"a\u007f","delegate":{}}"#, ["/identifier"]),
    (#"{"type":"background","identifier":"a\u0085","delegate":{}}"#, ["/identifier"]),
    (
      #"{"type":"background","identifier":"\#(String(repeating: "é", count: 128))","delegate":{}}"#,
      ["/identifier"]
    ),
    (
      #"{"type":"background","identifier":"b","configuration":{"urlCache":{}},"delegate":{}}"#,
      ["/configuration/urlCache"]
    ),
    (
      #"{"type":"background","identifier":"b","configuration":{"named":"slow"},"delegate":{}}"#,
      ["/configuration/named"]
    ),
    (#"{"type":"ephemeral","identifier":"b"}"#, ["/identifier"]),
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
    (#"{"delegate":"x"}"#, ["/delegate"]), (#"{"delegate":{"caching":"aks"}}"#, ["/delegate/caching"]),
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
  func `invalid payload names each fault`(_ text: String, _ expected: [String]) async throws {
    let problem = try await #require(throws: Problem.self) { try await read(text) }
    #expect(problem.kind == .invalidRequest)
    #expect(problem.violations.map(\.pointer) == expected)
  }
}
