import Foundation
import JSON
import TestSupport
import Testing

/// The route of requests through proxies, and the bytes that each side sees.
@Suite(.serialized, .blocking, .sharing) struct ProxyTests {
  private let squid: SquidProxy
  private let nginx: NginxServer
  private let ferry: FerryProcess

  init() throws {
    squid = try SquidProxy()
    nginx = try NginxServer()
    ferry = try .ofSuite(trustsAuthority: true)
  }

  private func session(_ proxies: String, in ferry: FerryProcess? = nil) throws -> String {
    try (ferry ?? self.ferry).session(#"{"proxies":\#(proxies)}"#)
  }

  private func session(through proxy: String) throws -> String {
    try session(#"{"http":"\#(proxy)","https":"\#(proxy)"}"#)
  }

  /// Ends the session's tunnels, because squid logs a tunnel at its end.
  private func invalidate(_ session: String) throws {
    let path = "/v1/sessions/\(session)/invalidate"
    #expect(try ferry.call("POST", path, #"{"mode":"cancelTasks"}"#).status == 202)
  }

  @Test(arguments: [NginxServer.Site.plain, .good], ["data", "download"])
  func `requests go through the proxy`(_ face: NginxServer.Site, _ kind: String) throws {
    let session = try session(through: squid.url)
    let task = try ferry.run(nginx.url(face, "/hello.txt"), kind: kind, session: session)
    #expect(task["response"]?["status"]?.integer == 200, "\(task.text)")
    #expect(try ferry.call("GET", "/v1/tasks/\(task.id)/body").body == NginxServer.contents(5000))
    let transaction = try ferry.metrics(of: task.id)["transactionMetrics"]?.elements?.first
    #expect(transaction?["isProxyConnection"]?.bool == true)
    if face == .plain {
      #expect(squid.log(atLeast: 1) == ["GET \(nginx.url(.plain, "/hello.txt")) 200 -"])
    } else {
      try invalidate(session)
      #expect(squid.log(atLeast: 1) == ["CONNECT 127.0.0.1:\(nginx.port(.good)) 200 -"])
    }
  }

  /// Each scheme has its own proxy. The SOCKS proxy serves the schemes without one.
  @Test func `schemes have separate proxies`() throws {
    let (secure, socks) = (try SquidProxy(), try SOCKSProxy())
    let proxies = #"{"https":"\#(secure.url)","socks5":"socks5://127.0.0.1:\#(socks.port)"}"#
    let session = try session(proxies)
    for face in [NginxServer.Site.plain, .good] {
      #expect(try ferry.run(nginx.url(face, "/hello.txt"), session: session)["error"] == .null)
    }
    #expect(socks.log(atLeast: 1).filter { $0.contains("connected to") }.count == 1)
    try invalidate(session)
    #expect(secure.log(atLeast: 1).count == 1 && squid.log().isEmpty)
  }

  // MARK: Exceptions

  struct Exception: Sendable, CustomTestStringConvertible {
    let text: String
    var host = "127.0.0.1"
    let isDirect: Bool
    var testDescription: String { "\(text) for \(host): \(isDirect)" }
  }

  @Test(arguments: [
    Exception(text: "*", isDirect: true), Exception(text: "127.0.0.1", isDirect: true),
    Exception(text: "127.0.0.1:$port", isDirect: true), Exception(text: "127.0.0.1:1", isDirect: false),
    Exception(text: "127.0.0.0/8", isDirect: true), Exception(text: "10.0.0.0/8", isDirect: false),
    Exception(text: "127.0.0.2", isDirect: false), Exception(text: "0.0.1", isDirect: false),
    Exception(text: "localhost", isDirect: false),
    Exception(text: "localhost", host: "localhost", isDirect: true),
    Exception(text: "LOCALHOST:$port", host: "localhost", isDirect: true),
    Exception(text: "127.0.0.0/8", host: "localhost", isDirect: false),
    Exception(text: "host", host: "localhost", isDirect: false),
    Exception(text: ".localhost", host: "a.localhost", isDirect: true),
    Exception(text: "*.localhost", host: "a.localhost", isDirect: true),
    Exception(text: "localhost", host: "a.localhost", isDirect: true),
    Exception(text: "a.localhost", host: "localhost", isDirect: false),
  ]) func `exceptions are reached directly`(_ exception: Exception) throws {
    let text = exception.text.replacing("$port", with: "\(nginx.port(.plain))")
    let proxies = #"{"http":"\#(squid.url)","noProxy":["example.org","\#(text)"]}"#
    let session = try session(proxies)
    let url = nginx.url(.plain, "/hello.txt", host: exception.host)
    let task = try ferry.run(url, session: session)
    // Squid received the request, whether or not it can resolve the name.
    if exception.isDirect { #expect(task["error"] == .null, "\(task.text)") }
    let log = squid.log(atLeast: exception.isDirect ? 0 : 1)
    #expect(log.count == (exception.isDirect ? 0 : 1), "\(log)")
  }

  // MARK: The environment

  @Test func `proxies of the environment are ignored`() throws {
    let dead = "http://127.0.0.1:1"
    let names = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
    let environment = Dictionary(uniqueKeysWithValues: names.map { ($0, dead) })
    let ferry = try FerryProcess(options: ["--ca-file", nginx.authorityFile], environment: environment)
    for face in [NginxServer.Site.plain, .good] {
      let task = try ferry.run(nginx.url(face, "/hello.txt"))
      #expect(task["error"] == .null && task["response"]?["status"]?.integer == 200, "\(task.text)")
    }
  }

  @Test(arguments: ["*", "127.0.0.1"]) func `environment exceptions are ignored`(_ text: String) throws {
    let ferry = try FerryProcess(environment: ["no_proxy": text, "NO_PROXY": text])
    let session = try session(#"{"http":"\#(squid.url)"}"#, in: ferry)
    #expect(try ferry.run(nginx.url(.plain, "/hello.txt"), session: session)["error"] == .null)
    #expect(squid.log(atLeast: 1).count == 1)
  }

  // MARK: Refusals

  @Test func `refused tunnel is a failed connection`() throws {
    let proxy = TestOrigin { request, socket in
      try socket.write(TestOrigin.reply("403 Forbidden", Array("no".utf8)))
      return true
    }
    let session = try session(through: proxy.url)
    for kind in ["data", "download"] {
      let request = #","headers":{"Authorization":"Bearer secret","X-Mine":"1"}"#
      let url = nginx.url(.good, "/hello.txt")
      let task = try ferry.run(url, kind: kind, session: session, request: request)
      #expect(task.errorCode == -1004 && task["response"] == .null, "\(task.text)")
      #expect(task["error"]?["message"]?.string?.contains("403") == true)
      #expect(task["error"]?["failingURL"]?.string == url)
    }
    // The CONNECT has none of the origin's fields.
    #expect(proxy.requests.count == 2 && nginx.log().isEmpty)
    for request in proxy.requests {
      #expect(request.line == "CONNECT 127.0.0.1:\(nginx.port(.good)) HTTP/1.1")
      #expect(request["Authorization"] == nil && request["X-Mine"] == nil)
    }
  }

  /// For a closed port squid sends 503: to a request as the response, and to a CONNECT as a refusal.
  @Test func `closed port beyond the proxy fails the tunnel`() throws {
    let session = try session(through: squid.url)
    let tunnel = try ferry.run("https://127.0.0.1:1/", session: session)
    #expect(tunnel.errorCode == -1004 && tunnel["response"] == .null, "\(tunnel.text)")
    let plain = try ferry.run("http://127.0.0.1:1/", session: session)
    #expect(plain["error"] == .null && plain["response"]?["status"]?.integer == 503, "\(plain.text)")
  }

  @Test(arguments: ["http", "socks5"]) func `absent proxy is a failed connection`(_ scheme: String) throws {
    let members = scheme == "http" ? ["http", "https"] : ["socks5"]
    let fields = members.map { #""\#($0)":"\#(scheme)://127.0.0.1:1""# }.joined(separator: ",")
    let session = try session("{\(fields)}")
    for face in [NginxServer.Site.plain, .good] {
      let task = try ferry.run(nginx.url(face, "/hello.txt"), session: session)
      #expect(task.errorCode == -1004, "\(task.text)")
    }
    #expect(nginx.log().isEmpty)
  }

  @Test(arguments: ["http", "socks5"]) func `proxy without an address is no host`(_ scheme: String) throws {
    let session = try session(#"{"\#(scheme)":"\#(scheme)://proxy.invalid:1"}"#)
    #expect(try ferry.run(nginx.url(.plain, "/hello.txt"), session: session).errorCode == -1003)
  }

  // MARK: Egress

  @Test(arguments: ["http", "socks5"]) func `egress policy applies to the proxy`(_ scheme: String) throws {
    let session = try session(#"{"\#(scheme)":"\#(scheme)://10.0.0.1:3128"}"#)
    for kind in ["data", "download"] {
      let error = try ferry.run(nginx.url(.plain, "/hello.txt"), kind: kind, session: session)["error"]
      #expect(error?["name"]?.string == "destinationNotPermitted", "\(error?.text ?? "")")
    }
  }

  @Test(arguments: [
    "http://10.0.0.1/", "https://10.0.0.1/", "http://169.254.169.254/", "http://[::1]/", "https://[fd00::1]/",
    "http://0x0a000001/", "http://167772161/", "http://10.1/", "http://[::ffff:10.0.0.1]/",
  ]) func `egress policy applies beyond a proxy`(_ url: String) throws {
    let socks = try SOCKSProxy()
    for proxies in [
      #"{"http":"\#(squid.url)","https":"\#(squid.url)"}"#,
      #"{"socks5":"socks5://127.0.0.1:\#(socks.port)"}"#,
    ] {
      let error = try ferry.run(url, session: session(proxies))["error"]
      #expect(error?["name"]?.string == "destinationNotPermitted", "\(error?.text ?? "none") \(proxies)")
    }
    #expect(squid.log().isEmpty && socks.log().isEmpty)
  }

  @Test func `egress policy applies to a redirect through a proxy`() throws {
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("302 Found", [], [("Location", "http://10.0.0.1/")]))
      return true
    }
    let error = try ferry.run(origin.url + "/", session: session(through: squid.url))["error"]
    #expect(error?["name"]?.string == "destinationNotPermitted", "\(error?.text ?? "")")
    #expect(squid.log(atLeast: 1).count == 1)
  }

  // MARK: Configuration

  @Test(arguments: [
    (#"{"http":"ftp://h:1"}"#, "/http"), (#"{"http":"socks5://h:1"}"#, "/http"),
    (#"{"https":"https://h:1"}"#, "/https"), (#"{"socks5":"http://h:1"}"#, "/socks5"),
    (#"{"http":"http://h:0"}"#, "/http"), (#"{"http":"http://h:65536"}"#, "/http"),
    (#"{"http":"http://h:x"}"#, "/http"), (#"{"http":""}"#, "/http"), (#"{"http":"http://"}"#, "/http"),
    (#"{"http":"http://u:p@"}"#, "/http"), (#"{"http":"http://h/path"}"#, "/http"),
    (#"{"http":"http://h?q"}"#, "/http"), (#"{"http":"http://a b"}"#, "/http"),
    (#"{"http":"http://[::1"}"#, "/http"), (#"{"http":"http://[x]:1"}"#, "/http"),
    (#"{"http":5}"#, "/http"), (#"{"ftp":"http://h"}"#, "/ftp"), (#"{"noProxy":"*"}"#, "/noProxy"),
    (#"{"noProxy":[""]}"#, "/noProxy/0"), (#"{"noProxy":["*","a b"]}"#, "/noProxy/1"),
    (#"{"noProxy":["10.0.0.0/33"]}"#, "/noProxy/0"), (#"{"noProxy":["h:0"]}"#, "/noProxy/0"),
    (#"{"noProxy":[1]}"#, "/noProxy"), ("[]", ""),
  ]) func `malformed configuration is reported by its field`(_ proxies: String, _ pointer: String) throws {
    let body = #"{"configuration":{"proxies":\#(proxies)}}"#
    let reply = try ferry.call("POST", "/v1/sessions", body)
    let pointers = (reply.json["errors"]?.elements ?? []).compactMap { $0["pointer"]?.string }
    #expect(reply.status == 400 && pointers == ["/configuration/proxies" + pointer], "\(reply.text)")
    // The wrong value may contain a secret.
    #expect(!reply.text.contains("u:p@"))
  }
}
