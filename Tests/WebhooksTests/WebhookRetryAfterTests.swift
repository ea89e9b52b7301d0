import Addresses
import Curl
import HTTPDates
import TestSupport
import Testing
import TransferModel

@testable import Webhooks

@Suite(.blocking) struct WebhookRetryAfterTests {
  @Test(arguments: [
    "Retry-After: Tue, 14 Nov 2023 22:15:20 GMT", "retry-after:Tuesday, 14-Nov-23 22:15:20 GMT",
    "Retry-After: Tue Nov 14 22:15:20 2023", "Retry-After:   120 ",
  ])
  func `retry time is read from the response`(_ line: String) async throws {
    let receiver = TestOrigin { _, socket in
      let head = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\(line)\r\nX-A: b\r\n\r\n"
      try socket.write(Array(head.utf8))
      return true
    }
    let sender = WebhookSender(
      egress: EgressPolicy(allowedNetworks: [try #require(IPNetwork("127.0.0.0/8"))]),
      authorities: CertificateAuthorities(CertificateAuthoritySet()))
    let answer = await sender.send(
      .init(url: receiver.url, headers: [], body: [0x7B, 0x7D], wantsReply: false))
    await sender.stop()
    #expect(answer?.status == 503)
    let now = Timestamp(seconds: 1_700_000_000)
    #expect(answer?.retryAfter.flatMap { RetryAfter.seconds($0, now: now) } == 120)
  }
}
