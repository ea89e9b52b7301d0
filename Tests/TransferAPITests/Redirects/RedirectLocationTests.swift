import JSON
import TestSupport
import Testing

/// Redirect targets: the `Location` field, correct or malformed.
@Suite(.serialized, .blocking, .sharing) struct RedirectLocationTests {
  private let place: InProcessAPI

  init() throws { place = try .ofSuite() }

  /// Makes an origin that answers `/dir/start?old=1` with this `Location`, and everything else with 200.
  private func origin(_ location: String) -> TestOrigin {
    TestOrigin { request, socket in
      guard request.path.hasPrefix("/dir/start?old") else {
        try socket.write(TestOrigin.reply("200 OK", Array("end".utf8)))
        return true
      }
      let host = request["Host"] ?? ""
      let text = location.replacing("HOST", with: host)
      try socket.write("HTTP/1.1 302 Found\r\nLocation:\(text)\r\nContent-Length: 0\r\n\r\n")
      return true
    }
  }

  /// redirectionComplete, redirectionInCompleteRelativePath, redirectionEncodedQuery, and RFC 3986 §5.4.
  @Test(arguments: [
    (" end", "/dir/end"), (" ./end", "/dir/end"), (" ../end", "/end"), (" ../../../end", "/end"),
    (" /end", "/end"), ("/end", "/end"), (" \t /end \t ", "/end"), (" http://HOST/end", "/end"),
    (" HTTP://HOST/end", "/end"), (" http://HOST", "/"), (" http://HOST?q", "/?q"), (" //HOST/end", "/end"),
    (" ?q=1", "/dir/start?q=1"), (" /end?q=a%20b&r=%2F%C3%A9", "/end?q=a%20b&r=%2F%C3%A9"),
    (" /end#part", "/end"), (" /end?q#part", "/end?q"), (" /a b", "/a%20b"), (" /end?q=a b", "/end?q=a%20b"),
    (" /end;p=1,2", "/end;p=1,2"), (" /%7Eend", "/%7Eend"), (" /a//b", "/a//b"), (" .", "/dir/"),
    (" /end?url=http://other.test/", "/end?url=http://other.test/"),
  ]) func `location is resolved against the URL`(_ location: String, _ target: String) throws {
    let origin = origin(location)
    let task = try place.run(origin.url + "/dir/start?old=1")
    #expect(task["error"] == .null)
    #expect(origin.requests.map(\.path) == ["/dir/start?old=1", target])
    #expect(task["response"]?["url"]?.string == origin.url + target)
    #expect(task["currentRequest"]?["url"]?.string == origin.url + target)
  }

  /// An empty reference means the same URL again (RFC 3986 §5.2.2).
  @Test(arguments: [" #part", " http://HOST/dir/start?old=1#part"])
  func `location of the same URL is a redirect loop`(_ location: String) throws {
    let origin = origin(location)
    let task = try place.run(origin.url + "/dir/start?old=1")
    #expect(task.errorCode == -1007)
    #expect(Set(origin.requests.map(\.path)) == ["/dir/start?old=1"] && origin.requests.count == 21)
  }

  /// Like browsers and curl, Ferry delivers a response with an empty `Location` instead of following it.
  @Test(arguments: ["", " "]) func `empty location is no redirect`(_ location: String) throws {
    let origin = origin(location)
    let task = try place.run(origin.url + "/dir/start?old=1")
    #expect(task["error"] == .null && task["response"]?["status"]?.integer == 302)
    #expect(origin.requests.count == 1)
    let second = self.origin(location + "\r\nLocation: /end")
    #expect(try place.run(second.url + "/dir/start?old=1")["response"]?["status"]?.integer == 200)
    #expect(second.requests.map(\.path) == ["/dir/start?old=1", "/end"])
  }

  /// redirectionDefaultPort: the port of the origin is not carried over.
  @Test func `location without a port has the default port`() throws {
    let origin = origin(" http://127.0.0.1/end")
    let id = try place.create(origin.url + "/dir/start?old=1", request: #","timeoutInterval":5"#)
    let story = try place.story(of: id)
    let proposed = story.first { $0.type == "task.willPerformHTTPRedirection" }?.data["request"]
    #expect(proposed?["url"]?.string == "http://127.0.0.1/end")
    #expect(try place.task(id)["currentRequest"]?["url"]?.string == "http://127.0.0.1/end")
    #expect(origin.requests.count == 1)
  }

  /// unhandledURLProtocol and requestToNilURL, on the second hop.
  @Test(
    arguments: [
      (" ftp://127.0.0.1/x", -1002), (" file:///etc/passwd", -1002), (" gopher://127.0.0.1:70/_x", -1002),
      (" nonsense://x", -1002), (" mailto:a@b.test", -1002), (" javascript:alert(1)", -1002),
      (" data:text/plain,hello", -1002), (" about:blank", -1002), (" http://", -1000), (" //", -1000),
      (" http://127.0.0.1:99999/", -1000), (" http://127.0.0.1:x/", -1000), (" http://[::1/", -1000),
      (" http://a b/", -1000),
    ] as [(String, Int64)]) func `unusable location is an error`(_ location: String, _ code: Int64)
    throws
  {
    let origin = origin(location)
    let task = try place.run(origin.url + "/dir/start?old=1")
    #expect(task.errorCode == code, "\(task["error"]?["message"]?.string ?? "")")
    // The redirect itself is the task's last response.
    #expect(task["response"]?["status"]?.integer == 302 && task["body"] == .null)
    #expect(task["error"]?["message"]?.string?.contains("secret") == false)
    #expect(origin.requests.count == 1)
  }

  /// httpRedirectionTimeout: nothing listens on the port.
  @Test func `redirect to a closed port cannot connect`() throws {
    let origin = origin(" http://127.0.0.1:1/end")
    let error = try place.run(origin.url + "/dir/start?old=1")["error"]
    #expect(error?["code"]?.integer == -1004)
    #expect(error?["failingURL"]?.string == "http://127.0.0.1:1/end")
    #expect(error?["underlying"]?["code"]?.integer == 7)  // CURLE_COULDNT_CONNECT
    withExtendedLifetime(origin) {}
  }
}
