import Crypto
import FerryClient
import Foundation
import TestSupport
import Testing

/// The messages that the clients in Python and TypeScript must accept or refuse, too.
private struct Vector: Decodable, CustomTestStringConvertible {
  let name: String
  let valid: Bool
  let keys: [String]
  let now: Double
  let headers: [String: String]
  let body: String
  var testDescription: String { name }

  static let all: [Vector] = {
    let file = Checkout.root.appendingPathComponent("clients/tests/webhooks.json")
    do { return try JSONDecoder().decode([Vector].self, from: Data(contentsOf: file)) } catch {
      preconditionFailure("\(file.path): \(error)")
    }
  }()
}

@Suite struct FerryWebhookTests {
  private static let secret = "whsec_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="

  @Test(arguments: Vector.all) private func `message is accepted if its signature and time are valid`(
    _ vector: Vector
  )
    throws
  {
    let webhook = try FerryWebhook(keys: vector.keys) { Date(timeIntervalSince1970: vector.now) }
    let body = Data(vector.body.utf8)
    guard vector.valid else {
      #expect(throws: FerryWebhook.InvalidMessage.self) {
        try webhook.verify(headers: vector.headers, body: body)
      }
      return
    }
    let message = try webhook.verify(
      headers: Dictionary(uniqueKeysWithValues: vector.headers.map { ($0.key.uppercased(), $0.value) }),
      body: body)
    #expect(message.id == vector.headers["webhook-id"] && message.body == body)
    #expect(message.type == "task.didComplete" && message.sessionID == "ses_shared")
  }

  @Test(arguments: [
    [], [""], ["AQEB"], ["whsec_"], ["whsec_!"], ["whpk_"], ["whpk_AQEB"], [secret, "whpk_"],
  ]) func `key without its form is refused`(_ keys: [String]) {
    let error = #expect(throws: FerryWebhook.InvalidKey.self) { try FerryWebhook(keys: keys) }
    #expect(error?.description.contains("whsec_") == true || error?.description.contains("whpk_") == true)
    #expect(error?.description.contains("AQEB") == false)
  }

  // MARK: Messages and answers

  /// Returns the reply to a message with a valid signature.
  private func reply(
    to type: String, _ data: String,
    handler: (FerryWebhookMessage) async throws -> FerryDecisionAnswer?
  ) async throws -> FerryWebhook.Reply {
    let body = Data(#"{"type":"\#(type)","timestamp":"2026-11-28T13:16:14.811Z","data":\#(data)}"#.utf8)
    let key = SymmetricKey(data: [UInt8](repeating: 1, count: 32))
    let code = HMAC<SHA256>.authenticationCode(for: Data("whd_1.1795871774.".utf8) + body, using: key)
    let headers = [
      "Webhook-Id": "whd_1", "Webhook-Timestamp": "1795871774",
      "Webhook-Signature": "v1," + Data(code).base64EncodedString(),
    ]
    return try await FerryWebhook(keys: [Self.secret]) { Date(timeIntervalSince1970: 1_795_871_774) }
      .respond(headers: headers, body: body, handler: handler)
  }

  @Test func `end of a task has its response and its error`() async throws {
    let task = #"{"response":{"url":"http://a/b","status":503,"headers":{"Retry-After":"1"}}}"#
    let reply = try await reply(
      to: "task.didComplete",
      #"{"sessionId":"ses_1","taskId":"tsk_1","error":{"code":7,"status":503,"message":"m"},"task":\#(task)}"#
    ) { message in
      #expect(message.taskID == "tsk_1" && message.sessionID == "ses_1" && message.decisionID == nil)
      #expect(abs(message.timestamp.timeIntervalSince1970 - 1_795_871_774.811) < 0.001)
      guard case .completion(let response, let error) = message.event else {
        Issue.record("\(message.event)")
        return nil
      }
      #expect(response?.statusCode == 503 && response?.value(forHTTPHeaderField: "retry-after") == "1")
      #expect(error?.code == .httpStatus)
      return nil
    }
    #expect(reply.status == 204 && reply.body.isEmpty && reply.headers.isEmpty)
  }

  @Test func `message of a group has neither a session nor a task`() async throws {
    let reply = try await reply(to: "group.didComplete", #"{"sessionId":null,"taskId":null}"#) { message in
      #expect(message.type == "group.didComplete" && message.taskID == nil && message.sessionID == nil)
      if case .other = message.event {} else { Issue.record("\(message.event)") }
      return nil
    }
    #expect(reply.status == 204)
  }

  private static let response = #"{"url":"http://a/b","status":200,"headers":{},"mimeType":"text/plain"}"#

  @Test(arguments: [
    (
      "task.didReceiveChallenge", #"{"protectionSpace":{"host":"a","port":80},"previousFailureCount":0}"#,
      #"{"disposition":"useCredential","credential":{"user":"u","password":"p","persistence":"none"}}"#
    ),
    (
      "task.willPerformHTTPRedirection", #"{"response":\#(response),"request":{"url":"http://a/c"}}"#,
      #"{"request":{"url":"http://a/c"}}"#
    ),
    (
      "dataTask.didReceiveResponse", #"{"response":\#(response)}"#, #"{"disposition":"becomeDownload"}"#
    ),
    (
      "task.willBeginDelayedRequest", #"{"request":{"url":"http://a/c"}}"#,
      #"{"disposition":"useNewRequest","request":{"url":"http://a/c"}}"#
    ),
    ("dataTask.willCacheResponse", #"{"response":\#(response)}"#, #"{"storagePolicy":"allowed"}"#),
  ])
  func `answer is the reply`(_ type: String, _ data: String, _ body: String) async throws {
    let reply = try await reply(to: type, data) { message in
      switch message.event {
      case .challenge(let challenge):
        #expect(challenge.protectionSpace.host == "a")
        return .challenge(.useCredential, FerryCredential(user: "u", password: "p", persistence: .none))
      case .redirection(let response, let request):
        #expect(response.mimeType == "text/plain")
        return .redirection(request)
      case .response: return .response(.becomeDownload)
      case .delayedRequest(let request): return .delayedRequest(.useNewRequest, request)
      case .caching(let response): return .caching(response)
      case .completion, .other: return nil
      }
    }
    #expect(reply.status == 200 && reply.headers == ["Content-Type": "application/json"])
    #expect(String(decoding: reply.body, as: UTF8.self) == body)
  }

  @Test(arguments: [
    (FerryDecisionAnswer.challenge(.useCredential), #"{"disposition":"useCredential","credential":null}"#),
    (.challenge(.performDefaultHandling), #"{"disposition":"performDefaultHandling"}"#),
    (.redirection(nil), #"{"request":null}"#), (.response(.cancel), #"{"disposition":"cancel"}"#),
    (.delayedRequest(.continueLoading), #"{"disposition":"continueLoading"}"#),
    (.caching(nil), #"{"storagePolicy":"notAllowed"}"#),
  ])
  func `answer without a value has its own form`(_ answer: FerryDecisionAnswer, _ body: String) async throws {
    let reply = try await reply(to: "task.didReceiveChallenge", "{}") { _ in answer }
    #expect(String(decoding: reply.body, as: UTF8.self) == body)
  }

  @Test func `invalid message gets 401 and does not reach the handler`() async throws {
    let reply = try await FerryWebhook(keys: [Self.secret]).respond(headers: [:], body: Data()) { _ in
      Issue.record("the handler was called")
      return nil
    }
    #expect(reply.status == 401)
    #expect(String(decoding: reply.body, as: UTF8.self) == "the header field webhook-id is missing\n")
  }

  @Test func `error of the handler is thrown`() async {
    await #expect(throws: CancellationError.self) {
      _ = try await self.reply(to: "group.didComplete", "{}") { _ in throw CancellationError() }
    }
  }
}
