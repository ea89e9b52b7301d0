import Curl
import EventLoop
import TransferModel
import Testing

@testable import Webhooks

@Suite struct WebhookSenderTests {
  /// Refuses the first request, and carries no other out.
  private final class RefusingTransport: WebhookTransport {
    let multi: MultiHandle
    var onCompletion: ((MultiHandle.Completion) -> Void)?
    private var hasRefused = false

    init() throws(CurlError) { multi = try MultiHandle(multiplexing: false, maximumIdleConnections: 1) }

    func add(_ easy: EasyHandle) throws(CurlError) {
      guard hasRefused else {
        hasRefused = true
        try multi.add(easy)
        defer { multi.remove(easy) }
        return try multi.add(easy)  // libcurl's own refusal: it has this one already
      }
    }
    func remove(_ easy: EasyHandle) {}
    func close() {
      multi.close()
      isClosed = true
    }
    func closeWhenEmpty() { close() }
    private(set) var isClosed = false
  }

  /// The second message's end comes after the time at which the first would have timed out.
  @Test func aRequestThatCannotBeginIsAnsweredOnce() async throws {
    let sender = WebhookSender(
      egress: EgressPolicy(), authorities: TLSAuthorities(TLSRoots()),
      timeout: .milliseconds(20)
    ) { _ in try RefusingTransport() }
    let message = WebhookSender.Message(
      url: "http://192.0.2.1/", headers: [], body: [0x7B, 0x7D], wantsReply: false)
    let refused = await sender.send(message)
    #expect(refused?.status == nil && refused?.error?.contains("multi_add_handle") == true)
    let silent = await sender.send(message)
    #expect(silent?.error == "no answer within 0.02 seconds")
    await sender.stop()
  }
}
