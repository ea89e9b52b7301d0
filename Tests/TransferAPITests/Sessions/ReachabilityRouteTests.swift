import JSON
import TestSupport
import Testing

/// `/v1/reachability`: unreachable origins and invalid requests.
@Suite(.serialized, .blocking, .sharing) struct ReachabilityRouteTests {
  private let place: InProcessAPI

  init() throws { place = try .ofSuite() }

  // MARK: Unreachable

  @Test(arguments: ["http", "https"]) func `closed port fails the connection`(_ scheme: String) throws {
    let report = try place.reach("\(scheme)://127.0.0.1:1/")
    #expect(report.isReachable == false && report.steps == [true, false, nil])
    #expect(report.code == -1004 && report.name == "cannotConnectToHost")
    #expect(report.json["remoteAddress"]?.string == "127.0.0.1")
    #expect(report.json["error"]?["failingURL"]?.string == "\(scheme)://127.0.0.1:1/")
  }

  @Test(arguments: ["http", "https"]) func `unknown host fails the lookup`(_ scheme: String) throws {
    let report = try place.reach("\(scheme)://nonexistent.invalid/")
    #expect(report.isReachable == false && report.steps == [false, nil, nil])
    #expect(report.code == -1003 && report.name == "cannotFindHost")
    #expect(report.json["remoteAddress"] == .null)
  }

  @Test func `server without TLS fails the handshake`() throws {
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("400 Bad Request"))
      return false
    }
    let report = try place.reach("https://127.0.0.1:\(origin.port)/", timeout: "5")
    #expect(report.isReachable == false && report.steps == [true, true, false])
    #expect([-1200, -1001].contains(report.code))
  }

  // MARK: Invalid requests

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
  func `wrong reachability field is named`(_ body: String, _ pointer: String) throws {
    let reply = try place.call("POST", "/v1/reachability", body)
    #expect(reply.status == 400 && reply.pointers.contains(pointer), "\(body): \(reply.text)")
    #expect(reply["Content-Type"]?.hasPrefix("application/problem+json") == true)
  }

  @Test func `invalid reachability request is refused`() throws {
    let body = #"{"url":"http://127.0.0.1/"}"#
    #expect(try place.call("POST", "/v1/reachability", "{").status == 400)
    #expect(try place.call("POST", "/v1/reachability", body, [("Content-Type", "text/plain")]).status == 415)
    #expect(try place.call("POST", "/v1/reachability?wait=1", body).status == 400)
    let get = try place.call("GET", "/v1/reachability")
    #expect(get.status == 405 && get["Allow"]?.contains("POST") == true)
  }
}
