import JSON
import TestSupport
import Testing

/// Whether an origin can be reached now, step by step.
@Suite(.serialized, .blocking, .sharing) struct ReachabilityTests {
  private let nginx: NginxServer
  private let ferry: FerryProcess

  init() throws {
    nginx = try NginxServer()
    ferry = try .ofSuite(trustsAuthority: true)
  }

  /// How the steps went, and what is told of the whole.
  private struct Report {
    let json: JSONValue
    /// The name, the connection and TLS: nil where it was not taken.
    var steps: [Bool?] { ["dns", "connect", "tls"].map { json[$0]?["ok"]?.bool } }
    var isReachable: Bool? { json["isReachable"]?.bool }
    var code: Int64? { json["error"]?["code"]?.integer }
    var name: String? { json["error"]?["name"]?.string }
    /// Of the steps, in order.
    var durations: [Double] { ["dns", "connect", "tls"].compactMap { json[$0]?["duration"]?.double } }
  }

  private func reach(
    _ url: String, timeout: String = "", in ferry: FerryProcess? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> Report {
    let body = #"{"url":"\#(url)"\#(timeout.isEmpty ? "" : ",\"timeoutInterval\":")\#(timeout)}"#
    let reply = try (ferry ?? self.ferry).call("POST", "/v1/reachability", body)
    #expect(reply.status == 200, sourceLocation: sourceLocation)
    #expect(reply["Cache-Control"] == "no-store", sourceLocation: sourceLocation)
    let names = reply.json.members?.map(\.name)
    #expect(
      names == ["url", "isReachable", "remoteAddress", "dns", "connect", "tls", "error"],
      sourceLocation: sourceLocation)
    let report = Report(json: reply.json)
    #expect(reply.json["url"]?.string == url, sourceLocation: sourceLocation)
    // A step that was not taken is there, and null; each that was taken has its time.
    #expect(report.steps.count { $0 != nil } == report.durations.count, sourceLocation: sourceLocation)
    #expect(report.durations.allSatisfy { $0 >= 0 && $0 < 15 }, sourceLocation: sourceLocation)
    #expect(report.isReachable == (reply.json["error"] == .null), sourceLocation: sourceLocation)
    return report
  }

  // MARK: Reachable

  @Test(arguments: ["127.0.0.1", "localhost"]) func anOriginWithoutTLSHasNoSuchStep(_ host: String) throws {
    let report = try reach(nginx.url(.plain, "/hello.txt", host: host))
    #expect(report.isReachable == true && report.steps == [true, true, nil])
    #expect(report.json["tls"] == .null && report.json["error"] == .null)
    #expect(["127.0.0.1", "::1"].contains(report.json["remoteAddress"]?.string))
  }

  @Test(arguments: ["127.0.0.1", "localhost"]) func anOriginWithTLSIsTrusted(_ host: String) throws {
    let report = try reach(nginx.url(.good, "/", host: host))
    #expect(report.isReachable == true && report.steps == [true, true, true])
    #expect(report.durations.allSatisfy { $0 < 5 } && report.durations[2] > 0)
  }

  @Test func noRequestIsSent() throws {
    let origin = TestOrigin { request, socket in
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
    for _ in 0..<3 { #expect(try reach(origin.url + "/").isReachable == true) }
    #expect(try reach(nginx.url(.plain, "/")).isReachable == true)
    #expect(try reach(nginx.url(.good, "/")).isReachable == true)
    // What is asked for afterwards is all that was.
    _ = try ferry.run(origin.url + "/one")
    _ = try ferry.run(nginx.url(.plain, "/hello.txt"))
    #expect(origin.requests.map(\.path) == ["/one"])
    #expect(nginx.log(atLeast: 1) == ["GET /hello.txt 200 -"])
  }

  /// Each answer is that of its own question.
  @Test func manyAreTriedAtOnce() throws {
    let clients = try (0..<30).map { _ in try ferry.client() }
    let urls = (0..<30).map {
      ["http://127.0.0.1:1/\($0)", nginx.url(.plain, "/\($0)"), nginx.url(.good, "/\($0)")][$0 % 3]
    }
    for (client, url) in zip(clients, urls) {
      let body = #"{"url":"\#(url)"}"#
      try client.socket.write(
        "POST /v1/reachability HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
          + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }
    for (index, client) in clients.enumerated() {
      let json = try client.readReply().json
      #expect(json["url"]?.string == urls[index])
      #expect(json["isReachable"]?.bool == (index % 3 != 0))
    }
  }

  // MARK: Not reachable

  @Test(arguments: ["http", "https"]) func aClosedPortIsFoundAtTheConnection(_ scheme: String) throws {
    let report = try reach("\(scheme)://127.0.0.1:1/")
    #expect(report.isReachable == false && report.steps == [true, false, nil])
    #expect(report.code == -1004 && report.name == "cannotConnectToHost")
    #expect(report.json["remoteAddress"]?.string == "127.0.0.1")
    #expect(report.json["error"]?["failingURL"]?.string == "\(scheme)://127.0.0.1:1/")
  }

  @Test(arguments: ["http", "https"]) func anUnknownHostIsFoundAtItsName(_ scheme: String) throws {
    let report = try reach("\(scheme)://nonexistent.invalid/")
    #expect(report.isReachable == false && report.steps == [false, nil, nil])
    #expect(report.code == -1003 && report.name == "cannotFindHost")
    #expect(report.json["remoteAddress"] == .null)
  }

  @Test(arguments: [
    (NginxServer.Face.selfSigned, -1202 as Int64), (.unknownRoot, -1203), (.expired, -1201),
    (.notYetValid, -1204), (.wrongHost, -1202),
  ])
  func anUntrustedCertificateIsFoundAtTLS(_ face: NginxServer.Face, _ code: Int64) throws {
    let report = try reach(nginx.url(face, "/"))
    #expect(report.isReachable == false && report.steps == [true, true, false])
    // What a task is told is what is told here.
    let task = try ferry.run(nginx.url(face, "/"))
    #expect(report.code == task.errorCode && report.name == task["error"]?["name"]?.string)
    if face != .selfSigned { #expect(report.code == code) }
    #expect(report.json["remoteAddress"]?.string == "127.0.0.1")
  }

  @Test func aServerWithoutTLSFailsTheHandshake() throws {
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("400 Bad Request"))
      return false
    }
    let report = try reach("https://127.0.0.1:\(origin.port)/", timeout: "5")
    #expect(report.isReachable == false && report.steps == [true, true, false])
    #expect([-1200, -1001].contains(report.code))
  }

  /// Nobody answers: to the first packet, or within TLS.
  @Test func silenceEndsByTheTimeout() throws {
    let place = try CablePlace(isUp: true)
    try place.here.ip("neighbour add 10.9.0.77 lladdr 02:00:00:00:00:77 dev eth0 nud permanent")
    let start = ContinuousClock.now
    let report = try reach("http://10.9.0.77/", timeout: "0.5", in: place.ferry)
    #expect(.now - start < .seconds(5))
    #expect(report.isReachable == false && report.steps == [true, false, nil])
    #expect(report.code == -1001 && report.name == "timedOut")
    #expect((report.durations.last ?? 0) > 0.4)
    let secure = try reach("https://127.0.0.1:\(silentPort.port)/", timeout: "0.5")
    #expect(secure.steps == [true, true, false] && secure.code == -1001)
  }
  private let silentPort = TestOrigin { _, socket in try socket.readSome() != nil }

  @Test func withoutANetworkNothingLeadsThere() throws {
    let place = try CablePlace()
    let report = try reach(place.url + "/", in: place.ferry)
    #expect(report.isReachable == false && report.steps == [true, false, nil] && report.code == -1009)
    try place.raise()
    #expect(try reach(place.url + "/", in: place.ferry).isReachable == true)
    #expect(place.origin.requests.isEmpty)
  }

  @Test(arguments: ["http", "https"]) func whatTransfersMayNotReachIsNotReachedHere(_ scheme: String) throws {
    let guarded = try FerryProcess(networks: [])
    let url = "\(scheme)://127.0.0.1:\(nginx.port(scheme == "http" ? .plain : .good))/"
    let report = try reach(url, in: guarded)
    #expect(report.isReachable == false && report.steps == [true, false, nil])
    #expect(report.json["error"]?["domain"]?.string == "FerryErrorDomain" && report.code == 1)
    let task = try guarded.run(url)
    #expect(report.name == "destinationNotPermitted" && task.errorCode == 1)
    #expect(report.json["error"]?["rule"]?.string == "loopback")
    #expect(report.json["error"]?["rule"] == task["error"]?["rule"])
  }

  // MARK: Questions that are wrong

  @Test(arguments: [
    ("{}", "/url"), (#"{"url":5}"#, "/url"), (#"{"url":null}"#, "/url"), (#"{"url":""}"#, "/url"),
    (#"{"url":"ftp://host/"}"#, "/url"), (#"{"url":"no url"}"#, "/url"), (#"{"url":"http://"}"#, "/url"),
    (#"{"url":"http://127.0.0.1:99999/"}"#, "/url"),
    (#"{"url":"http://127.0.0.1/","timeout":1}"#, "/timeout"),
    (#"{"url":"http://127.0.0.1/","timeoutInterval":"1"}"#, "/timeoutInterval"),
    (#"{"url":"http://127.0.0.1/","timeoutInterval":0}"#, "/timeoutInterval"),
    (#"{"url":"http://127.0.0.1/","timeoutInterval":-1}"#, "/timeoutInterval"),
    (#"{"url":"http://127.0.0.1/","timeoutInterval":61}"#, "/timeoutInterval"), ("[]", ""),
  ])
  func aWrongFieldIsNamed(_ body: String, _ pointer: String) throws {
    let reply = try ferry.call("POST", "/v1/reachability", body)
    let pointers = (reply.json["errors"]?.elements ?? []).compactMap { $0["pointer"]?.string }
    #expect(reply.status == 400 && pointers.contains(pointer), "\(body): \(reply.text)")
    #expect(reply["Content-Type"]?.hasPrefix("application/problem+json") == true)
  }

  @Test func whatIsNoQuestionIsRefused() throws {
    let body = #"{"url":"\#(nginx.url(.plain, "/"))"}"#
    #expect(try ferry.call("POST", "/v1/reachability", "{").status == 400)
    #expect(try ferry.call("POST", "/v1/reachability", body, [("Content-Type", "text/plain")]).status == 415)
    #expect(try ferry.call("POST", "/v1/reachability?wait=1", body).status == 400)
    let get = try ferry.call("GET", "/v1/reachability")
    #expect(get.status == 405 && get["Allow"]?.contains("POST") == true)
  }
}
