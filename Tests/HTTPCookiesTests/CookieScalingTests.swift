import TestSupport
import Testing
import TransferModel

@testable import HTTPCookies

@Suite(.serialized, .blocking) struct CookieScalingTests {
  @Test(arguments: [
    "; Path=/a", "; Expires=Wed, 21 Oct 2030 07:28:00 GMT", "; Max-Age=9", ";", "=", " ", "; Domain=a.test",
    "; a=b; ", "; Expires=1 ", "\u{1F1E9}\u{1F1EA}",
  ])
  func `parsing takes linear time`(_ piece: String) {
    let ratio = Scaling.ratio(of: { "a=b" + String(repeating: piece, count: $0) }) {
      _ = SetCookieParser.parse($0, defaultPath: "/", now: start)
    }
    #expect(ratio < Scaling.limit)
  }

  @Test(arguments: ["1 ", "1:", "Jan ", "0", " "]) func `parsing dates takes linear time`(_ piece: String) {
    let ratio = Scaling.ratio(of: { String(repeating: piece, count: $0) }) { _ = CookieDate.parse($0) }
    #expect(ratio < Scaling.limit)
  }

  /// One response sets more cookies than a site, and than the whole jar, may have.
  @Test(arguments: [false, true]) func `storing takes linear time`(_ isOfOneName: Bool) {
    let ratio = Scaling.ratio(
      from: 1024, of: { count in (0..<count).map { "c\(isOfOneName ? 0 : $0)=v\($0); Path=/" } }
    ) { fields in
      var jar = CookieJar()
      _ = jar.store(fields, from: request("https://www.example.com/"), now: start)
      _ = jar.header(for: request("https://www.example.com/"), now: start)
      _ = jar.list()
    }
    #expect(ratio < Scaling.limit)
  }
}
