import JSON
import TestSupport
import Testing

/// TLS and HTTP/2 with a real server.
@Suite(.serialized, .blocking, .sharing) struct HTTP2Tests {
  private let nginx: NginxServer
  private let ferry: FerryProcess
  private static let files = ["hello.txt": 5000, "large.bin": 3_000_000]

  init() throws {
    nginx = try NginxServer(files: Self.files)
    ferry = try .ofSuite(trustsAuthority: true)
  }

  private func bytes(_ task: JSONValue) throws -> [UInt8] {
    try ferry.call("GET", "/v1/tasks/\(task.id)/body").body
  }

  /// After Foundation's tests `dataTaskWithURL`, `downloadTaskWithURL` and `gzippedDownloadTask`.
  @Test(arguments: ["data", "download"]) func `body arrives over HTTP2`(_ kind: String) throws {
    let large = try ferry.run(nginx.url(.good, "/large.bin"), kind: kind)
    #expect(large["error"] == .null && large["response"]?["httpVersion"]?.string == "HTTP/2")
    #expect(large["response"]?["expectedContentLength"]?.integer == 3_000_000)
    #expect(try bytes(large) == NginxServer.contents(3_000_000))
    let text = try ferry.run(nginx.url(.good, "/hello.txt"), kind: kind)
    let headers = text["response"]?["headers"]
    #expect(headers?["Content-Encoding"]?.string == "gzip")
    #expect(headers?["ETag"] != nil && headers?["Last-Modified"] != nil)  // lower case on the wire
    #expect(text["response"]?["mimeType"]?.string == "text/plain")
    #expect(text["response"]?["expectedContentLength"]?.integer == -1)
    #expect(text["progress"]?["countOfBytesReceived"]?.integer == 5000)
    #expect(try bytes(text) == NginxServer.contents(5000))
  }

  /// `URLSessionTaskTransactionMetrics`: the dates are in order, and a reused connection has no dates of its own.
  @Test func `metrics describe the connection`() throws {
    let session = try ferry.session()
    let first = try ferry.run(nginx.url(.good, "/hello.txt"), session: session)
    let metrics = try ferry.metrics(of: first.id)
    let transaction = try #require(metrics["transactionMetrics"]?.elements?.first)
    #expect(transaction["networkProtocolName"]?.string == "h2")
    #expect(transaction["isReusedConnection"]?.bool == false)
    #expect(transaction["remoteAddress"]?.string == "127.0.0.1")
    let names = [
      "fetchStart", "domainLookupStart", "domainLookupEnd", "connectStart", "secureConnectionStart",
      "secureConnectionEnd", "connectEnd", "requestStart", "requestEnd", "responseStart", "responseEnd",
    ]
    let dates = names.map { transaction[$0 + "Date"]?.string ?? "absent" }
    #expect(dates == dates.sorted() && !dates.contains("absent"), "\(zip(names, dates).map { $0 })")
    #expect(transaction["countOfResponseBodyBytesAfterDecoding"]?.integer == 5000)
    let received = try #require(transaction["countOfResponseBodyBytesReceived"]?.integer)
    #expect(received > 0 && received < 5000)
    let second = try ferry.run(nginx.url(.good, "/hello.txt"), session: session)
    let again = try #require(try ferry.metrics(of: second.id)["transactionMetrics"]?.elements?.first)
    #expect(again["isReusedConnection"]?.bool == true)
    for name in names[1...6] { #expect(again[name + "Date"] == nil, "\(name)") }
    #expect(again["networkProtocolName"]?.string == "h2")
  }

  /// In swift-corelibs-foundation#5445, a redirect under HTTP/2 with more than six concurrent tasks crashed the
  /// process.
  @Test(arguments: [false, true]) func `many tasks are redirected at once`(_ multiplexes: Bool) throws {
    let session = try ferry.session(
      #"{"httpShouldUsePipelining":\#(multiplexes),"httpMaximumConnectionsPerHost":12}"#)
    let line =
      #"{"kind":"data","resume":true,"request":{"url":"\#(nginx.url(.good, "/moved"))"}}"# + "\n"
    let target = "/v1/sessions/\(session)/tasks"
    let reply = try ferry.call(
      "POST", target, String(repeating: line, count: 60), [("Content-Type", "application/x-ndjson")])
    #expect(reply.lines.count == 60)
    let tasks = try reply.lines.map { try ferry.end(of: $0.id) }
    #expect(Set(tasks.map { $0["error"].map { String(decoding: $0.json, as: UTF8.self) } }) == ["null"])
    #expect(Set(tasks.map { $0["response"]?["url"]?.string }) == [nginx.url(.good, "/hello.txt")])
    #expect(Set(tasks.map { $0["body"]?["size"]?.integer }) == [5000])
    #expect(try ferry.call("GET", "/readyz").status == 200)
  }

  @Test func `ranges are left to the origin`() throws {
    let task = try ferry.run(
      nginx.url(.good, "/large.bin"), request: #","headers":{"Range":"bytes=1000-1999"}"#)
    #expect(task["response"]?["status"]?.integer == 206)
    #expect(task["response"]?["headers"]?["Content-Range"]?.string == "bytes 1000-1999/3000000")
    #expect(try bytes(task) == Array(NginxServer.contents(3_000_000)[1000..<2000]))
  }
}
