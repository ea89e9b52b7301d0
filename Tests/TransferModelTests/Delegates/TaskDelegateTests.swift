import JSON
import Testing
import TransferModel

@Suite struct TaskDelegateTests {
  private func read(_ text: String) throws -> TaskDelegate {
    let violations = Violations()
    var reader = ObjectReader(try JSONParser.parse(Array(text.utf8)), at: "/delegate", violations)
    let delegate = TaskDelegate(validating: &reader)
    #expect(violations.all.isEmpty, "\(violations.all)")
    return delegate
  }

  private static let session: SessionDelegate = {
    var delegate = SessionDelegate()
    delegate.sessionChallenges = .ask
    delegate.taskChallenges = .ask
    delegate.asksForRedirects = true
    delegate.asksForResponses = true
    delegate.asksForCaching = true
    delegate.asksForDelayedRequests = true
    delegate.decisionTimeout = 5
    delegate.webhook = Webhook(url: "http://session/", secret: "whsec_s")
    delegate.events = [.taskDidCreate]
    delegate.webhookAnswers = true
    return delegate
  }()

  @Test(arguments: ["{}", #"{"webhook":null,"sessionChallenges":null,"taskChallenges":null}"#])
  func `absent members come from the delegate of the session`(_ text: String) throws {
    #expect(try read(text).overriding(Self.session) == Self.session)
    #expect(try read(text).overriding(nil) == SessionDelegate())
    #expect(String(decoding: try read(text).json, as: UTF8.self) == "{}")
  }

  /// Each member in turn, including its default value.
  @Test(arguments: [
    #""sessionChallenges":"default""#, #""taskChallenges":"default""#, #""redirects":"follow""#,
    #""responses":"allow""#, #""caching":"default""#, #""delayedRequests":"continue""#,
    #""decisionTimeout":60"#,
    #""webhook":{"url":"http://task/","events":["task.didComplete"],"answers":false,"order":"task"}"#,
  ])
  func `given member replaces only that member`(_ member: String) throws {
    let delegate = try read("{\(member)}")
    #expect(String(decoding: delegate.json, as: UTF8.self) == "{\(member)}")
    let (merged, name) = (delegate.overriding(Self.session), String(member.dropFirst().prefix { $0 != "\"" }))
    #expect(merged != Self.session)
    let (before, after) = (try JSONParser.parse(Self.session.json), try JSONParser.parse(merged.json))
    for key in before.members?.map(\.name) ?? [] {
      #expect((before[key] == after[key]) == (key != name), "\(key)")
    }
  }

  @Test func `JSON contains no webhook secret`() throws {
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    let delegate = try read(#"{"webhook":{"url":"http://task/","secret":"\#(secret)"}}"#)
    #expect(delegate.webhook?.secret == secret && delegate.overriding(Self.session).webhook?.secret == secret)
    #expect(!String(decoding: delegate.json, as: UTF8.self).contains("whsec_"))
  }
}
