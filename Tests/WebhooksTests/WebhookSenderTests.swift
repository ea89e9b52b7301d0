import Addresses
import Curl
import TestSupport
import Testing

@testable import Webhooks

@Suite(.blocking, .endsInTime) struct WebhookSenderTests {
  private func sender(timeout: Duration) throws -> WebhookSender {
    WebhookSender(
      egress: EgressPolicy(allowedNetworks: [try #require(IPNetwork("127.0.0.0/8"))]),
      authorities: CertificateAuthorities(CertificateAuthoritySet()), timeout: timeout)
  }

  private func message(to port: Int) -> OutgoingMessage {
    .init(url: "http://127.0.0.1:\(port)/", headers: [], body: [0x7B, 0x7D], wantsReply: false)
  }

  @Test func `silent endpoint runs into the timeout`() async throws {
    let silent = try InheritedSocket(.loopback)
    let sender = try sender(timeout: .milliseconds(20))
    #expect(await sender.send(message(to: silent.port))?.error == "no reply within 0.02 seconds")
    await sender.stop()
  }

  @Test func `forbidden endpoint is not connected to`() async throws {
    let sender = WebhookSender(
      egress: EgressPolicy(), authorities: CertificateAuthorities(CertificateAuthoritySet()))
    let answer = await sender.send(message(to: 1))
    #expect(answer?.status == nil && answer?.error == "destination not permitted: loopback")
    await sender.stop()
  }

  @Test func `unusable URL is an error`() async throws {
    let sender = try sender(timeout: .seconds(10))
    let answer = await sender.send(.init(url: "http://[", headers: [], body: [], wantsReply: false))
    #expect(answer?.status == nil && answer?.error != nil)
    await sender.stop()
  }

  /// The next process sends the message again.
  @Test func `stopping cancels running attempts`() async throws {
    let (requests, asked) = AsyncStream.makeStream(of: Void.self)
    let isOver = Gate()
    let origin = TestOrigin { _, _ in
      asked.yield()
      _ = isOver.wait()
      return false
    }
    let sender = try sender(timeout: .seconds(60))
    async let answer = sender.send(message(to: origin.port))
    for await _ in requests { break }
    await sender.stop()
    #expect(await answer == nil)
    isOver.open()
  }
}
