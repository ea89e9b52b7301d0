import JSON
import TestSupport
import Testing

/// The reachability probe, step by step.
@Suite(.serialized, .blocking, .sharing) struct ReachabilityTests {
  private let nginx: NginxServer
  private let ferry: FerryProcess

  init() throws {
    nginx = try NginxServer()
    ferry = try .ofSuite(trustsAuthority: true)
  }

  // MARK: Reachable

  @Test(arguments: ["127.0.0.1", "localhost"]) func `plain origin has no TLS step`(_ host: String) throws {
    let report = try ferry.reach(nginx.url(.plain, "/hello.txt", host: host))
    #expect(report.isReachable == true && report.steps == [true, true, nil])
    #expect(report.json["tls"] == .null && report.json["error"] == .null)
    #expect(["127.0.0.1", "::1"].contains(report.json["remoteAddress"]?.string))
  }

  @Test(arguments: ["127.0.0.1", "localhost"]) func `origin with TLS is trusted`(_ host: String) throws {
    let report = try ferry.reach(nginx.url(.good, "/", host: host))
    #expect(report.isReachable == true && report.steps == [true, true, true])
    #expect(report.durations.allSatisfy { $0 < 5 } && report.durations[2] > 0)
  }

  @Test func `probe sends no request`() throws {
    let origin = TestOrigin { request, socket in
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
    for _ in 0..<3 { #expect(try ferry.reach(origin.url + "/").isReachable == true) }
    #expect(try ferry.reach(nginx.url(.plain, "/")).isReachable == true)
    #expect(try ferry.reach(nginx.url(.good, "/")).isReachable == true)
    // The later requests are the only ones in the logs.
    _ = try ferry.run(origin.url + "/one")
    _ = try ferry.run(nginx.url(.plain, "/hello.txt"))
    #expect(origin.requests.map(\.path) == ["/one"])
    #expect(nginx.log(atLeast: 1) == ["GET /hello.txt 200 -"])
  }

  /// Each reply belongs to its own request.
  @Test func `many probes run at once`() throws {
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

  @Test(arguments: [
    (NginxServer.Site.selfSigned, -1202 as Int64), (.unknownRoot, -1203), (.expired, -1201),
    (.notYetValid, -1204), (.wrongHost, -1202),
  ])
  func `untrusted certificate fails at the TLS step`(_ face: NginxServer.Site, _ code: Int64) throws {
    let report = try ferry.reach(nginx.url(face, "/"))
    #expect(report.isReachable == false && report.steps == [true, true, false])
    // A task reports the same error.
    let task = try ferry.run(nginx.url(face, "/"))
    #expect(report.code == task.errorCode && report.name == task["error"]?["name"]?.string)
    if face != .selfSigned { #expect(report.code == code) }
    #expect(report.json["remoteAddress"]?.string == "127.0.0.1")
  }

  /// The host does not answer the first packet, or does not answer in TLS.
  @Test func `unresponsive host ends the probe by its timeout`() throws {
    let place = try UnpluggableNetworkFixture(isUp: true)
    try place.here.ip("neighbour add 10.9.0.77 lladdr 02:00:00:00:00:77 dev eth0 nud permanent")
    let report = try place.ferry.reach("http://10.9.0.77/", timeout: "0.5")
    #expect(report.isReachable == false && report.steps == [true, false, nil])
    #expect(report.code == -1001 && report.name == "timedOut")
    #expect((report.durations.last ?? 0) > 0.4)
    let secure = try ferry.reach("https://127.0.0.1:\(silentPort.port)/", timeout: "0.5")
    #expect(secure.steps == [true, true, false] && secure.code == -1001)
  }
  private let silentPort = TestOrigin { _, socket in try socket.readSome() != nil }

  @Test func `probe without a network fails`() throws {
    let place = try UnpluggableNetworkFixture()
    let report = try place.ferry.reach(place.url + "/")
    #expect(report.isReachable == false && report.steps == [true, false, nil] && report.code == -1009)
    try place.setLinkUp()
    #expect(try place.ferry.reach(place.url + "/").isReachable == true)
    #expect(place.origin.requests.isEmpty)
  }

  @Test(arguments: ["http", "https"]) func `egress policy applies to probes`(_ scheme: String) throws {
    let guarded = try FerryProcess(networks: [])
    let url = "\(scheme)://127.0.0.1:\(nginx.port(scheme == "http" ? .plain : .good))/"
    let report = try guarded.reach(url)
    #expect(report.isReachable == false && report.steps == [true, false, nil])
    #expect(report.json["error"]?["domain"]?.string == "FerryErrorDomain" && report.code == 1)
    let task = try guarded.run(url)
    #expect(report.name == "destinationNotPermitted" && task.errorCode == 1)
    #expect(report.json["error"]?["rule"]?.string == "loopback")
    #expect(report.json["error"]?["rule"] == task["error"]?["rule"])
  }
}
