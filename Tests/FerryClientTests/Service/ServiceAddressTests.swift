import FerryClient
import Testing

@Suite struct ServiceAddressTests {
  @Test(arguments: [
    ("http://127.0.0.1:8080", "http://127.0.0.1:8080"), ("http://127.0.0.1:8080//", "http://127.0.0.1:8080"),
    ("host:9", "http://host:9"), ("https://Example.org/ferry/", "https://Example.org/ferry"),
    ("http://[::1]:80/a", "http://[::1]:80/a"),
  ])
  func `URL has no slash at its end`(text: String, url: String) throws {
    #expect(try ServiceAddress(text).url.lowercased() == url.lowercased())
  }

  @Test(arguments: [
    "", "http://", "ftp://host", "http://user@host", "http://host/?a=1", "http://host/?", "http://host/#a",
  ])
  func `text that is no service's URL is refused`(text: String) {
    #expect(throws: ServiceAddress.Fault.self) { try ServiceAddress(text) }
  }

  @Test(arguments: ["", "a b", "a\r\nX: y", "é"])
  func `token that is no header value is refused`(token: String) {
    #expect(throws: ServiceAddress.Fault.self) { try ServiceAddress("http://host", token: token) }
  }

  @Test func `query is escaped`() {
    let request = ServiceRequest("GET", "/p", query: [("a b&c=ü*~-._", "a b&c=ü*~-._")])
    #expect(request.target == "/p?a%20b%26c%3D%C3%BC%2A~-._=a%20b%26c%3D%C3%BC%2A~-._")
  }
}
