import HTTPFields
import Testing
import TransferModel

@Suite struct BackgroundSessionTests {
  private func session(
    _ type: SessionType, configuration: SessionConfiguration = .init(), delegate: SessionDelegate? = nil,
    description: String? = nil
  ) -> TransferSession {
    TransferSession(
      id: .shared, type: type, createdAt: Timestamp(microseconds: 0), description: description,
      configuration: configuration, delegate: delegate, identifier: type == .background ? "a" : nil)
  }

  @Test func `only background sessions wait and request no decisions`() {
    var delegate = SessionDelegate()
    (delegate.asksForRedirects, delegate.asksForResponses, delegate.asksForCaching) = (true, true, true)
    delegate.asksForDelayedRequests = true
    delegate.taskChallenges = .ask
    #expect(session(.default, delegate: delegate).delegate == delegate)
    let background = session(.background, delegate: delegate)
    var expected = delegate
    (expected.asksForRedirects, expected.asksForResponses, expected.asksForCaching) = (false, false, false)
    #expect(background.delegate == expected)
    #expect(background.configuration.waitsForConnectivity && background.configuration.urlCache == .none)
    #expect(!session(.default).configuration.waitsForConnectivity)
    #expect(session(.background).delegate == nil)
  }

  @Test func `differing members are named`() {
    var configuration = SessionConfiguration()
    #expect(session(.background).differences(to: session(.background)) == [])
    configuration.waitsForConnectivity = true  // the value of every background session
    #expect(session(.background).differences(to: session(.background, configuration: configuration)) == [])
    configuration.maximumBytesPerSecond = 1
    let other = session(
      .background, configuration: configuration, delegate: SessionDelegate(), description: "d")
    #expect(
      session(.background).differences(to: other) == ["configuration", "delegate", "description"])
  }

  /// The same values as another client, or the map type of another language, would write them.
  @Test func `equivalent sessions do not differ`() {
    var (one, other) = (SessionConfiguration(), SessionConfiguration())
    for (name, value) in [("A", "1"), ("B", "2"), ("A", "3")] {
      one.httpAdditionalHeaders.append(name, value)
    }
    for (name, value) in [("b", "2"), ("a", "1"), ("A", "3")] {
      other.httpAdditionalHeaders.append(name, value)
    }
    one.retry = RetryConfiguration()
    one.proxies.noProxy = ProxyExceptions(["a", "b"].compactMap { ProxyException($0) })
    other.proxies.noProxy = ProxyExceptions(["b", "a"].compactMap { ProxyException($0) })
    var (first, second) = (SessionDelegate(), SessionDelegate())
    first.events = [.taskDidComplete, .taskDidCreate]
    second.events = [.taskDidCreate, .taskDidComplete]
    second.taskChallenges = .default
    #expect(
      session(.background, configuration: one, delegate: first)
        .differences(to: session(.background, configuration: other, delegate: second)) == [])
    second.sessionChallenges = .ask
    other.httpAdditionalHeaders.append("b", "4")
    #expect(
      session(.background, configuration: one, delegate: first)
        .differences(to: session(.background, configuration: other, delegate: second))
        == ["configuration", "delegate"])
  }

  @Test(arguments: [
    ("a", true), ("com.example.photos", true), ("é", true), (" ", true), ("", false), ("a\u{0}", false),
    ("a\tb", false), ("\u{7F}", false), ("\u{9B}", false), (String(repeating: "x", count: 255), true),
    (String(repeating: "x", count: 256), false), (String(repeating: "é", count: 127), true),
    (String(repeating: "é", count: 128), false),
  ])
  func `identifier has 1 to 255 bytes and no control characters`(_ text: String, _ isOne: Bool) {
    #expect((BackgroundSessionKey.fault(ofIdentifier: text) == nil) == isOne)
  }
}
