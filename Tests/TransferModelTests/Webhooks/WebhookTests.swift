import Testing

@testable import TransferModel

@Suite struct WebhookTests {
  @Test(arguments: [
    (23, false), (24, true), (25, true), (63, true), (64, true), (65, false), (0, false),
  ])
  func `webhook key has 24 to 64 bytes`(_ count: Int, _ expected: Bool) {
    let bytes = [UInt8](repeating: 0xA5, count: count)
    #expect(Webhook.key(of: "whsec_" + Base64.encode(bytes)) == (expected ? bytes : nil))
  }

  @Test(arguments: [
    "", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "whsec_!fKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    " whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  ])
  func `other secret is refused`(_ secret: String) { #expect(Webhook.key(of: secret) == nil) }

  @Test(arguments: [
    ("https://a.test/hook", "https://a.test/hook"), ("https://a.test/hook?token=x", "https://a.test/hook"),
    ("https://a.test?token=x", "https://a.test"), ("https://a.test/#x?y", "https://a.test/"),
    ("https://u:p@a.test:8443/a@b?c@d", "https://a.test:8443/a@b"),
    ("https://u:p@q@a.test/", "https://a.test/"), ("https://a.test/?u=http://b:c@d/", "https://a.test/"),
    ("", ""), ("?", ""),
  ])
  func `listed URL has neither user info nor query`(_ url: String, _ listed: String) {
    #expect(Webhook(url: url, secret: "s").listed == Webhook(url: listed, secret: "s"))
  }

  @Test func `webhook key is decoded from base64`() {
    #expect(Webhook.key(of: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")?.prefix(4) == [0x31, 0xF2, 0x90, 0xF6])
  }
}
