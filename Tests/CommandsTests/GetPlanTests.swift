import JSON
import Testing

@testable import Commands

@Suite struct GetPlanTests {
  @Test func `list has one URL a line`() {
    let text = "# mirrors\nhttp://a/1\r\n\n  http://a/2  note\n\thttp://a/3"
    #expect(GetPlan.urls(ofList: text) == ["http://a/1", "http://a/2", "http://a/3"])
  }

  @Test(
    arguments: [
      ("http://h/p", "http://h/p", nil), ("http://u:p@h/p@q", "http://h/p@q", "u:p"),
      ("http://h/p?a=b@c", "http://h/p?a=b@c", nil), ("h", "h", nil), ("http://a@b@h", "http://h", "a@b"),
    ] as [(String, String, String?)])
  func `user and password are separated`(url: String, bare: String, user: String?) {
    let parts = GetPlan.parts(url)
    #expect(parts.bare == bare && parts.userInfo == user)
  }

  @Test func `user is escaped in the URL`() {
    #expect(GetPlan.url("http://h/p", withUser: "a@b:c:d/é") == "http://a%40b:c%3Ad%2F%C3%A9@h/p")
    #expect(GetPlan.url("http://x:y@h/p", withUser: "a") == "http://a@h/p")
  }

  @Test func `task has all options`() throws {
    var plan = GetPlan()
    plan.sources = [.init(url: "http://u:p@h/x", item: TransferItem(url: "http://h/x", key: "k"))]
    plan.headers = [("Accept", "text/\"x\"")]
    plan.labels = [("a", "1")]
    (plan.sha256, plan.tries, plan.statuses) = ("ab", 3, [500])
    (plan.bytesPerSecond, plan.webhook, plan.directoryLabel) = (9, "http://w", "d")
    plan.timeout = 2.5
    let line = plan.line(0)
    #expect(line.last == UInt8(ascii: "\n") && line.dropLast().allSatisfy { $0 != UInt8(ascii: "\n") })
    let expected = """
      {"kind":"download","request":{"url":"http://u:p@h/x","timeoutInterval":2.5,"headers":{"Accept":"text/\\"x\\""}},"resume":true,\
      "failOnStatus":true,"retry":{"maximumAttempts":3,"statuses":[500]},\
      "labels":{"a":"1","ferry-get":"d","ferry-get-file":"k"},"expected":{"sha256":"ab"},"maximumBytesPerSecond":9,\
      "completion":{"webhook":{"url":"http://w"}}}
      """
    #expect(String(decoding: line.dropLast(), as: UTF8.self) == expected)
  }

  @Test func `key depends on URL and place`() {
    let keys = [
      GetState.key(url: "http://h", output: nil), GetState.key(url: "http://h", output: "a"),
      GetState.key(url: "http://h/", output: nil),
    ]
    #expect(Set(keys).count == 3 && keys.allSatisfy { $0.utf8.count == 32 })
  }

  @Test func `PEM file is separated into certificates and key`() {
    let certificate = "-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n"
    let key = "-----BEGIN EC PRIVATE KEY-----\nBB\n-----END EC PRIVATE KEY-----\n"
    let parts = PEMFile.split("text\n" + certificate + key + certificate)
    #expect(parts.certificates == certificate + certificate && parts.key == key)
  }

  @Test func `table aligns cells and escapes controls`() {
    var table = AlignedTable(["A", "BB"])
    table.append(["名", "x\u{1B}"])
    table.append(["abc", ""])
    #expect(table.lines(width: nil, .none) == ["A     BB", "名    x?", "abc"])
    #expect(table.lines(width: 5, .none) == ["A   …", "名  …", "abc"])
  }
}
