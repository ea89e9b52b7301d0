import JSON
import TestSupport
import Testing

/// The request that follows each redirect status and method: httpRedirectionWithCode300, 301_302, 303, 304 and
/// 305_308.
@Suite(.serialized, .blocking, .sharing) struct RedirectMatrixTests {
  private let place: InProcessAPI
  private let origin = TestOrigin { request, socket in
    let status = Int(request.path.dropFirst()) ?? 200
    let body = status == 200 ? "end" : "moved"
    let hasBody = request.method != "HEAD" && status != 304
    var head = "HTTP/1.1 \(status) Any\r\n"
    if status != 200 { head += "Location: /end\r\n" }
    if status != 304 { head += "Content-Length: \(body.utf8.count)\r\n" }
    try socket.write(head + "\r\n" + (hasBody ? body : ""))
    return true
  }

  init() throws { place = try .ofSuite() }

  private static let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"]

  @Test(arguments: [300, 301, 302, 303, 304, 305, 306, 307, 308], ["data", "download"])
  func `status and method determine the next request`(_ status: Int, _ kind: String) throws {
    for method in Self.methods {
      let hasBody = method != "GET" && method != "HEAD"
      let body = hasBody ? #","body":{"text":"sent"}"# : ""
      let headers = #","headers":{"Content-Type":"text/x","X-Kept":"yes"}"#
      let before = origin.requests.count
      let id = try place.create(
        "\(origin.url)/\(status)", kind: kind, request: #","method":"\#(method)"\#(headers)\#(body)"#)
      let story = try place.story(of: id)
      let seen = Array(origin.requests[before...])
      #expect(seen.first?.method == method && seen.first?.body == Array((hasBody ? "sent" : "").utf8))
      let follows = status != 300 && status != 304
      try #require(seen.count == (follows ? 2 : 1), "\(method): \(seen.map(\.line))")
      let becomesGET = status == 303 || (method == "POST" && [301, 302].contains(status))
      let last = try place.task(id)
      #expect(last["error"] == .null, "\(method)")
      #expect(last["response"]?["status"]?.integer == (follows ? 200 : Int64(status)))
      #expect(last["originalRequest"]?["method"]?.string == method)
      #expect(last["currentRequest"]?["method"]?.string == (follows && becomesGET ? "GET" : method))
      if follows {
        let next = seen[1]
        #expect(next.line == "\(becomesGET ? "GET" : method) /end HTTP/1.1")
        // URLSession on Linux drops the body at 307 and 308 (swift-corelibs-foundation, HTTPURLProtocol.swift).
        #expect(next.body == Array((hasBody && !becomesGET ? "sent" : "").utf8), "\(method)")
        #expect(next["Content-Type"] == (becomesGET ? nil : "text/x"), "\(method)")
        #expect(next["Content-Length"] == (hasBody && !becomesGET ? "4" : nil), "\(method)")
        #expect(next["X-Kept"] == "yes")
      }
      try checkStory(story, status, kind, follows)
      let metrics = try place.metrics(of: id)
      #expect(metrics["redirectCount"]?.integer == (follows ? 1 : 0))
      #expect(metrics["transactionMetrics"]?.elements?.count == seen.count)
    }
  }

  /// Checks the order of the events, and the contents of the redirect event.
  private func checkStory(
    _ story: [EventReader.Event], _ status: Int, _ kind: String, _ follows: Bool
  ) throws {
    let isData = kind == "data"
    let expected =
      ["task.didCreate", "task.didChangeState", "task.didChangeState"]
      + (follows ? ["task.willPerformHTTPRedirection"] : [])
      + [isData ? "dataTask.didReceiveResponse" : "downloadTask.didFinishDownloading"]
      + ["task.didFinishCollectingMetrics", "task.didComplete"]
    #expect(story.map(\.type) == expected)
    guard follows else { return }
    let data = try #require(story.first { $0.type == "task.willPerformHTTPRedirection" }?.data)
    #expect(data["response"]?["status"]?.integer == Int64(status))
    #expect(data["response"]?["url"]?.string == "\(origin.url)/\(status)")
    #expect(data["response"]?["headers"]?["Location"]?.string == "/end")
    #expect(data["request"]?["url"]?.string == "\(origin.url)/end")
  }

  /// The redirect's own body never becomes the task's body, whatever its framing.
  @Test(arguments: [
    "Content-Length: 5\r\n\r\nmoved", "Transfer-Encoding: chunked\r\n\r\n5\r\nmoved\r\n0\r\n\r\n",
    "Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", "Connection: close\r\n\r\nmoved",
  ]) func `body of a redirect is discarded`(_ rest: String) throws {
    let origin = TestOrigin { request, socket in
      guard request.path == "/" else {
        try socket.write(TestOrigin.reply("200 OK", Array("end".utf8)))
        return true
      }
      try socket.write("HTTP/1.1 302 Found\r\nLocation: /end\r\n" + rest)
      return !rest.contains("close")
    }
    let task = try place.run(origin.url + "/", query: "?include=body")
    #expect(task["error"] == .null && task["body"]?["text"]?.string == "end")
    #expect(task["progress"]?["countOfBytesReceived"]?.integer == 3)
    withExtendedLifetime(origin) {}
  }

  /// A redirect without a `Location` is the task's response, and its body is the task's body.
  @Test(arguments: [301, 302, 303, 307, 308]) func `redirect without target is final`(_ status: Int) throws {
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("\(status) Moved", Array("moved".utf8)))
      return true
    }
    let task = try place.run(origin.url, query: "?include=body")
    #expect(task["error"] == .null && task["response"]?["status"]?.integer == Int64(status))
    #expect(task["body"]?["text"]?.string == "moved")
    withExtendedLifetime(origin) {}
  }
}
