import JSON
import Testing

@testable import TransferModel

@Suite struct SessionDelegateTests {
  private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

  private func read(_ text: String) throws -> (SessionDelegate, [String]) {
    let violations = Violations()
    var reader = ObjectReader(try JSONParser.parse(Array(text.utf8)), at: "/d", violations)
    let delegate = SessionDelegate(validating: &reader)
    return (delegate, violations.all.map(\.pointer))
  }

  @Test func `delegate with a webhook is read`() throws {
    let (delegate, pointers) = try read(
      #"""
      {"webhook":{"url":"https://a/","secret":"\#(Self.secret)",
         "events":["task.didCreate","session.didBecomeInvalid"],
       "answers":false},"redirects":"follow","responses":"allow","decisionTimeout":5}
      """#)
    #expect(pointers.isEmpty)
    #expect(delegate.webhook == Webhook(url: "https://a/", secret: Self.secret))
    #expect(delegate.events == [.taskDidCreate, .sessionDidBecomeInvalid])
  }

  @Test(
    arguments: [
      ("{}", nil, []), (#"{"webhook":null}"#, nil, []),
      (#"{"webhook":{"url":"u"}}"#, "u", [.taskDidComplete]),
      (#"{"webhook":{"url":"u","events":[]}}"#, "u", []),
      (#"{"webhook":{"url":"u","events":["task.didComplete"]}}"#, "u", [.taskDidComplete]),
    ] as [(String, String?, [EventType])])
  func `webhook receives ends by default`(_ text: String, _ url: String?, _ events: [EventType]) throws {
    let (delegate, pointers) = try read(text)
    #expect(pointers.isEmpty)
    #expect(delegate.webhook?.url == url)
    #expect(delegate.webhook?.secret == nil)
    #expect(delegate.events == events)
  }

  @Test(arguments: [
    ("[]", [""]), (#"{"taskChallenges":"no"}"#, ["/taskChallenges"]),
    (#"{"redirects":"allow"}"#, ["/redirects"]),
    (#"{"redirects":true}"#, ["/redirects"]),
    (
      #"{"sessionChallenges":"follow","caching":"yes"}"#,
      ["/sessionChallenges", "/caching"]
    ),
    (#"{"decisionTimeout":0}"#, ["/decisionTimeout"]), (#"{"x":1}"#, ["/x"]),
    (#"{"webhook":{}}"#, ["/webhook/url"]), (#"{"webhook":{"url":null}}"#, ["/webhook/url"]),
    (#"{"webhook":{"url":5}}"#, ["/webhook/url"]),
    (#"{"webhook":{"url":"u","secret":"short"}}"#, ["/webhook/secret"]),
    (#"{"webhook":{"url":"u","secret":1}}"#, ["/webhook/secret"]),
    (#"{"webhook":{"url":"u","answers":1}}"#, ["/webhook/answers"]),
    (#"{"webhook":{"url":"u","x":1}}"#, ["/webhook/x"]),
    (#"{"webhook":{"url":"u","events":"task.didCreate"}}"#, ["/webhook/events"]),
    (#"{"webhook":{"url":"u","events":[1]}}"#, ["/webhook/events"]),
    (#"{"webhook":{"url":"u","events":["nothing"]}}"#, ["/webhook/events/0"]),
    (#"{"webhook":{"url":"u","events":["task.didCreate","events.didReset"]}}"#, ["/webhook/events/1"]),
    (
      #"{"webhook":{"url":"u","events":["task.didSendBodyData","dataTask.didReceiveData"]}}"#,
      ["/webhook/events/0", "/webhook/events/1"]
    ),
  ])
  func `invalid delegate is reported by its JSON pointer`(_ text: String, _ pointers: [String]) throws {
    #expect(try read(text).1 == pointers.map { "/d" + $0 })
  }

  @Test func `JSON contains no webhook secret`() throws {
    let (delegate, _) = try read(#"{"webhook":{"url":"https://a/","secret":"\#(Self.secret)"}}"#)
    let json = String(decoding: delegate.json, as: UTF8.self)
    #expect(
      json.hasSuffix(
        #""webhook":{"url":"https://a/","events":["task.didComplete"],"answers":false,"order":"task"}}"#))
    #expect(!json.contains("whsec_"))
  }

  @Test func `delegate with decisions is read and written`() throws {
    let (delegate, pointers) = try read(
      #"""
      {"redirects":"ask","responses":"ask","delayedRequests":"ask","decisionTimeout":2.5,
       "webhook":{"url":"https://a/","answers":true}}
      """#)
    #expect(pointers.isEmpty)
    #expect(delegate.asksForRedirects && delegate.asksForResponses && delegate.asksForDelayedRequests)
    #expect(delegate.decisionTimeout == 2.5)
    #expect(delegate.webhookAnswers)
    #expect(try read(String(decoding: delegate.json, as: UTF8.self)).0 == delegate)
  }
}
