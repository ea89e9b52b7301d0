import JSON
import TestSupport
import Testing

/// A task's response as Ferry shows it, and responses without a body.
@Suite(.serialized, .blocking, .sharing) struct ResponseTests {
  private let place: InProcessAPI

  init() throws { place = try .ofSuite() }

  private func origin(_ text: String) -> TestOrigin {
    TestOrigin { _, socket in
      try socket.write(text)
      return true
    }
  }

  /// httpNotFound: no HTTP status is an error, and the events do not depend on the status.
  @Test(arguments: [200, 201, 206, 400, 401, 403, 404, 407, 416, 429, 500, 503, 599], ["data", "download"])
  func `task succeeds with any status`(_ status: Int, _ kind: String) throws {
    let origin = origin("HTTP/1.1 \(status) Any\r\nContent-Length: 4\r\n\r\nbody")
    let id = try place.create(origin.url, kind: kind)
    let types = try place.story(of: id).map(\.type).dropFirst(3)
    let answer = kind == "data" ? "dataTask.didReceiveResponse" : "downloadTask.didFinishDownloading"
    #expect(Array(types) == [answer, "task.didFinishCollectingMetrics", "task.didComplete"])
    let task = try place.task(id)
    #expect(task["error"] == .null && task["response"]?["status"]?.integer == Int64(status))
    #expect(try place.call("GET", "/v1/tasks/\(id)/body").text == "body")
    withExtendedLifetime(origin) {}
  }

  /// The `Content-Length` of these responses describes a body that is not sent (RFC 9110 §8.6).
  @Test(arguments: [
    ("GET", "204 No Content"), ("GET", "304 Not Modified"), ("HEAD", "200 OK"), ("HEAD", "404 Not Found"),
    ("POST", "204 No Content"),
  ]) func `bodiless response ends with its head`(_ method: String, _ status: String) throws {
    let origin = origin("HTTP/1.1 \(status)\r\nContent-Length: 500\r\nContent-Type: text/plain\r\n\r\n")
    let session = try place.session()
    for _ in 0..<2 {
      let task = try place.run(origin.url, session: session, request: #","method":"\#(method)""#)
      #expect(task["error"] == .null && task["body"]?["size"]?.integer == 0)
      #expect(task["response"]?["status"]?.integer == Int64(status.prefix(3)))
      #expect(task["response"]?["expectedContentLength"]?.integer == 500)
      #expect(task["response"]?["headers"]?["Content-Length"]?.string == "500")
      #expect(task["progress"]?["countOfBytesReceived"]?.integer == 0)
    }
    #expect(origin.requests.allSatisfy { $0.method == method })
  }

  /// The second request on the connection shows that Ferry did not wait for a body.
  @Test(arguments: [
    "Content-Length: 500", "Content-Length: 5\r\nContent-Length: 6", "Content-Length: many",
    "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Content-Encoding: gzip",
  ]) func `response to HEAD ends with its head`(_ fields: String) throws {
    let origin = origin("HTTP/1.1 200 OK\r\n\(fields)\r\nContent-Type: text/plain\r\n\r\n")
    let session = try place.session()
    for _ in 0..<2 {
      let task = try place.run(origin.url, session: session, request: #","method":"HEAD""#)
      #expect(task["error"] == .null && task.status == 200 && task["body"]?["size"]?.integer == 0)
    }
    #expect(origin.requests.count == 2)
  }

  @Test func `empty body is a body`() throws {
    for text in ["Content-Length: 0\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"] {
      let origin = origin("HTTP/1.1 200 OK\r\n" + text)
      let id = try place.create(origin.url, kind: "download")
      let types = try place.story(of: id).map(\.type)
      #expect(types.contains("downloadTask.didFinishDownloading"))
      let body = try place.call("GET", "/v1/tasks/\(id)/body")
      #expect(body.status == 200 && body.body.isEmpty)
      withExtendedLifetime(origin) {}
    }
  }

  struct Fields: Sendable, CustomTestStringConvertible {
    var path = "/dir/file.bin"
    var type: String?
    var disposition: String?
    var mimeType: String?
    var encoding: String?
    var name = "file.bin"
    var testDescription: String { "\(path), \(type ?? "-"), \(disposition ?? "-")" }
  }

  /// `mimeType`, `textEncodingName` and `suggestedFilename` are derived as in URLResponse.
  @Test(arguments: [
    Fields(), Fields(type: "text/html", mimeType: "text/html"),
    Fields(type: "Text/HTML; Charset=UTF-8", mimeType: "text/html", encoding: "utf-8"),
    Fields(type: "text/plain;charset=\"ISO-8859-1\"", mimeType: "text/plain", encoding: "iso-8859-1"),
    Fields(type: "application/json ; a=b", mimeType: "application/json"),
    Fields(path: "/report", type: "application/pdf", mimeType: "application/pdf", name: "report.pdf"),
    Fields(disposition: "attachment; filename*=UTF-8''%FF; filename=\"a b.txt", name: "a b.txt"),
    Fields(path: "/"), Fields(path: "/a%20b%C3%A9.txt?x=/y", name: "a bé.txt"),
    Fields(path: "/dir/", name: "dir"), Fields(path: "/%2e%2e%2f%2e%2e"),
    Fields(disposition: "attachment; filename=\"other name.pdf\"", name: "other name.pdf"),
    Fields(disposition: "inline; filename=plain; filename*=UTF-8''%E2%82%AC.txt", name: "€.txt"),
    Fields(disposition: "attachment; filename=\"../../etc/passwd\"", name: "passwd"),
    Fields(disposition: "attachment; filename=\"..\""), Fields(disposition: "attachment"),
  ]) func `response has the derived properties of URLResponse`(_ fields: Fields) throws {
    let type = fields.type.map { "Content-Type: \($0)\r\n" } ?? ""
    let disposition = fields.disposition.map { "Content-Disposition: \($0)\r\n" } ?? ""
    let origin = origin("HTTP/1.1 200 OK\r\n\(type)\(disposition)Content-Length: 4\r\n\r\nbody")
    let id = try place.create(origin.url + fields.path, kind: "download")
    let finished = try place.story(of: id).first { $0.type == "downloadTask.didFinishDownloading" }
    let response = try #require(try place.task(id)["response"])
    #expect(response["mimeType"]?.string == fields.mimeType)
    #expect(response["textEncodingName"]?.string == fields.encoding)
    // If the URL has no last component, the suggested name is the host.
    let isBare = fields.path == "/" || fields.path.hasPrefix("/%2e")
    let name = isBare ? "127.0.0.1" : fields.name
    #expect(response["suggestedFilename"]?.string == name)
    #expect(finished?.data["suggestedFilename"]?.string == name)
    #expect(response["expectedContentLength"]?.integer == 4)
    #expect(response["httpVersion"]?.string == "HTTP/1.1" && response["fromCache"]?.bool == false)
    withExtendedLifetime(origin) {}
  }

  @Test func `header fields with equal names are joined`() throws {
    let origin = origin(
      "HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\nX-B:\r\nX-C: \u{e9}\r\nContent-Length: 0\r\n\r\n")
    let headers = try place.run(origin.url)["response"]?["headers"]
    #expect(headers?["X-A"]?.string == "1, 2" && headers?["x-a"] == nil)
    #expect(headers?["X-B"]?.string == "" && headers?["X-C"]?.string == "\u{e9}")
    withExtendedLifetime(origin) {}
  }

  /// verifyRequestHeaders and verifyHttpAdditionalHeaders: the request's fields override the session's, regardless of
  /// case.
  @Test func `header fields of the request override those of the session`() throws {
    let origin = origin("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    let session = try place.session(
      #"{"httpAdditionalHeaders":{"X-Session":"1","X-Both":"session","Accept":"a/b"}}"#)
    _ = try place.run(
      origin.url, session: session, request: #","headers":{"x-both":"request","X-Request":"2","X-Empty":""}"#)
    let request = try #require(origin.requests.first)
    #expect(request.fields.filter { $0.name.lowercased() == "x-both" }.map(\.value) == ["request"])
    #expect(request["X-Session"] == "1" && request["X-Request"] == "2" && request["X-Empty"] == "")
    #expect(request.fields.filter { $0.name == "Accept" }.map(\.value) == ["a/b"])
    #expect(request["Host"] == origin.url.replacing("http://", with: ""))
  }

  /// requestWithEmptyBody, requestWithNonEmptyBody, postWithEmptyBody.
  @Test(
    arguments: [
      ("POST", "", nil, nil), ("POST", #","body":{"text":""}"#, "0", nil),
      ("POST", #","body":{"text":"abc"}"#, "3", "application/x-www-form-urlencoded"),
      ("PUT", #","body":{"text":"abc"},"headers":{"Content-Type":"text/x"}"#, "3", "text/x"),
      ("GET", "", nil, nil), ("DELETE", "", nil, nil),
    ] as [(String, String, String?, String?)])
  func `empty body gets no content type`(
    _ method: String, _ rest: String, _ length: String?, _ type: String?
  ) throws {
    let origin = origin("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    #expect(try place.run(origin.url, request: #","method":"\#(method)"\#(rest)"#)["error"] == .null)
    let request = try #require(origin.requests.first)
    #expect(request.method == method && request["Content-Type"] == type && request["Expect"] == nil)
    #expect(request["Content-Length"] == (method == "POST" ? length ?? "0" : length))
  }
}
