import FerryClient
import Foundation
import Testing

@Suite struct FerryErrorTests {
  @Test func `error keeps its code and text as another type`() {
    let error: any Error = FerryError(.timedOut, message: "slow")
    #expect(error.localizedDescription == "slow")
    #expect((error as NSError).code == -1001 && (error as NSError).domain == FerryError.errorDomain)
    #expect((FerryError(.httpStatus) as NSError).domain == "FerryErrorDomain")
  }

  @Test func `request and its parts do not show secrets`() throws {
    var request = FerryRequest(url: try #require(URL(string: "http://a.test/b")))
    request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
    request.httpBody = Data("secret".utf8)
    var text = ""
    dump(request, to: &text)
    #expect(!(text + "\(request)" + String(reflecting: request)).contains("secret"))
    #expect("\(request)" == "http://a.test/b")
  }

  @Test func `response of a test has its fields`() throws {
    let url = try #require(URL(string: "http://a.test/b.txt"))
    let fields = ["Content-Type": "text/plain; charset=utf-8", "Content-Length": "5"]
    let response = try #require(
      HTTPFerryResponse(url: url, statusCode: 404, httpVersion: "HTTP/1.1", headerFields: fields))
    #expect(response.mimeType == "text/plain" && response.expectedContentLength == 5)
    #expect(response.statusCode == 404 && response.suggestedFilename == "b.txt")
    #expect(HTTPFerryResponse.localizedString(forStatusCode: 404) == "not found")
  }
}
