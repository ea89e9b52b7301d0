import Curl
import HTTPFields
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct RedirectTests {
  private static let body = RequestContent.data(Array("x=1".utf8))

  private func request(_ url: String, method: String = "POST", body: RequestContent? = Self.body)
    -> TransferRequest
  {
    let fields = [
      ("Authorization", "Bearer t"), ("cookie", "a=b"), ("Proxy-Authorization", "Basic x"),
      ("Content-Type", "text/plain"),
      ("content-encoding", "gzip"), ("Content-Language", "en"), ("Accept", "*/*"), ("Content-MD5", "x"),
      ("Digest", "sha-256=x"), ("repr-digest", "sha-256=:x:"), ("Last-Modified", "x"), ("X-Content", "x"),
      ("X-API-Key", "k"), ("x-auth-token", "t"), ("X-Mine", "s"),
    ]
    return TransferRequest(
      url: url, method: method, headers: HTTPHeaders(fields.map { .init(name: $0.0, value: $0.1) }),
      body: body,
      timeoutInterval: 7)
  }

  private func next(
    _ status: Int, _ location: String?, from request: TransferRequest, count: Int = 1
  ) throws -> TransferRequest {
    var headers = HTTPHeaders()
    if let location { headers.append("Location", location) }
    let head = ResponseHead(httpVersion: "HTTP/1.1", status: status, headers: headers)
    let url = try CurlURL(request.url)
    let proposed = try Redirect.proposal(
      from: request, at: url, head: head, count: count, secretNames: ["x-mine"])
    try Redirect.checkSecurity(of: proposed, after: url, .init())
    return proposed
  }

  @Test(arguments: [301, 302, 303, 307, 308], ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
  func `redirect changes method and content fields`(_ status: Int, _ method: String) throws {
    let before = request("http://a.test/1", method: method)
    let after = try next(status, "/2", from: before)
    let becomesGET = status == 303 || (status < 303 && method == "POST")
    #expect(after.method == (becomesGET ? "GET" : method))
    #expect(after.body == (becomesGET ? nil : Self.body))
    for name in [
      "Content-Type", "Content-Encoding", "Content-Language", "Content-MD5", "Digest", "Repr-Digest",
      "Last-Modified",
    ] {
      #expect(after.headers.contains(name) == !becomesGET)
    }
    #expect(after.headers["Accept"] == "*/*" && after.headers["X-Content"] == "x")
    #expect(after.timeoutInterval == 7)
    #expect(after.url == "http://a.test/2")
  }

  @Test(arguments: [
    ("http://a.test/1", "/2", true), ("http://a.test/1", "http://a.test:80/2", true),
    ("http://a.test/1", "HTTP://A.TEST/2", true), ("https://a.test/1", "https://a.test:443/2", true),
    ("http://a.test/1", "//a.test/2", true), ("http://a.test/1", "http://a.test:8080/2", false),
    ("http://a.test/1", "https://a.test/2", false), ("http://a.test/1", "http://b.test/2", false),
    ("http://a.test/1", "http://sub.a.test/2", false), ("http://a.test/1", "//b.test/2", false),
    ("http://a.test:8080/1", "http://a.test/2", false),
    ("http://a.test/1", "http://a.test.evil.test/", false),
  ])
  func `credentials stay at their origin`(_ url: String, _ location: String, _ isSame: Bool) throws {
    for status in [302, 303, 308] {
      let after = try next(status, location, from: request(url))
      for name in ["Authorization", "Cookie", "Proxy-Authorization", "X-API-Key", "X-Auth-Token", "X-Mine"] {
        #expect(after.headers.contains(name) == isSame)
      }
      #expect(after.headers.contains("Accept"))
    }
  }

  @Test(arguments: [
    ("2", "http://a.test/dir/2"), ("./2", "http://a.test/dir/2"), ("../2", "http://a.test/2"),
    ("/2", "http://a.test/2"),
    ("?q=1", "http://a.test/dir/1?q=1"), ("//b.test/x", "http://b.test/x"), ("../../../2", "http://a.test/2"),
    ("/a b", "http://a.test/a%20b"), ("http://b.test", "http://b.test/"), ("/2#part", "http://a.test/2"),
    ("https://b.test/", "https://b.test/"),
  ])
  func `redirect location is resolved against the URL`(_ location: String, _ expected: String) throws {
    #expect(try next(302, location, from: request("http://a.test/dir/1?old=1#f")).url == expected)
  }

  @Test(
    arguments: [
      ("https://a.test/", "http://a.test/", .appTransportSecurityRequiresSecureConnection),
      ("https://a.test/", "http://b.test/", .appTransportSecurityRequiresSecureConnection),
      ("http://a.test/", "ftp://a.test/", .unsupportedURL),
      ("http://a.test/", "file:///etc/passwd", .unsupportedURL),
      ("http://a.test/", "gopher://a.test:70/_x", .unsupportedURL),
      ("http://a.test/", "http://a.test:99999/", .badURL), ("http://a.test/", "http:///x y", .badURL),
    ] as [(String, String, URLErrorCode)])
  func `insecure or invalid redirect is refused`(_ url: String, _ location: String, _ code: URLErrorCode) {
    let error = #expect(throws: TransferError.self) { try next(302, location, from: request(url)) }
    #expect(error?.reason == .url(code))
    #expect(error?.message.contains("pass") != true)
  }

  @Test func `twenty redirects are followed, the next is refused`() throws {
    let first = request("http://a.test/", method: "GET", body: nil)
    for count in [1, 19, 20] {
      #expect(try next(302, "/2", from: first, count: count).url == "http://a.test/2")
    }
    let error = #expect(throws: TransferError.self) { try next(302, "/2", from: first, count: 21) }
    #expect(error?.reason == .url(.httpTooManyRedirects))
    #expect(error?.failingURL == "http://a.test/")
  }
}
