import Foundation
import JSON
import TestSupport
import Testing

/// SIGHUP reloads tokens and certificate authorities, and interrupts nothing.
@Suite(.blocking, .endsInTime) struct ReloadTests {
  private let files = TemporaryDirectory.make("ferry-reload")
  private static let done = "read tokens and certificate authorities again"

  private var tokens: String { files + "/tokens" }
  private var authorities: String { files + "/authorities.pem" }

  private func write(_ text: String, to path: String) throws {
    try text.write(toFile: path, atomically: true, encoding: .utf8)
  }

  private func status(_ client: HTTPClient, _ token: String) throws -> Int {
    try client.send("GET", "/v1/sessions/ses_shared", nil, [("Authorization", "Bearer \(token)")]).status
  }

  @Test func `tokens are added and removed`() throws {
    try write("old\n", to: tokens)
    let ferry = try FerryProcess(options: ["--token-file", tokens])
    let client = try ferry.client()
    let stream = try ferry.events("/v1/events", [("Authorization", "Bearer old")])
    #expect(stream.head.status == 200)
    #expect(try status(client, "old") == 200)
    #expect(try status(client, "new") == 401)
    try write("new\n", to: tokens)
    ferry.signal(SIGHUP)
    #expect(ferry.hasLogged(Self.done))
    // The connection is the same.
    #expect(try status(client, "old") == 401)
    #expect(try status(client, "new") == 200)
    for bad in ["", "one two three\n"] {
      try write(bad, to: tokens)
      ferry.signal(SIGHUP)
      let count = bad.isEmpty ? 1 : 2
      #expect(ferry.hasLogged("the earlier contents stay in use", times: count))
      #expect(try status(client, "new") == 200)
    }
    #expect(ferry.hasLogged(#""level":"error","message":"token-file: "#, times: 2))
    // The stream that was opened before continues.
    let task = #"{"kind":"data","request":{"url":"http://127.0.0.1:1/"}}"#
    let created = try client.send(
      "POST", "/v1/tasks", Array(task.utf8),
      [("Authorization", "Bearer new"), ("Content-Type", "application/json")])
    #expect(created.status == 201)
    #expect(try stream.read(upTo: "task.didCreate").last?.task == created.json.id)
  }

  /// The file first has an unrelated certificate authority, because an empty file would be refused.
  @Test func `certificate authorities are added and removed`() throws {
    let (nginx, kit) = (try NginxServer(), try CertificateKit.shared())
    let other = kit.leaves[.selfSigned] ?? ""
    try write(other, to: authorities)
    let ferry = try FerryProcess(options: ["--ca-file", authorities])
    let url = nginx.url(.good, "/hello.txt")
    let sessions = try [ferry.session(), ferry.session(Self.ownAuthority(kit))]
    let probe = #"{"url":"\#(url)"}"#
    func codes() throws -> [Int64?] { try sessions.map { try ferry.run(url, session: $0).errorCode } }
    func reaches() throws -> Bool? {
      try ferry.call("POST", "/v1/reachability", probe).json["isReachable"]?.bool
    }
    #expect(try codes() == [-1203, nil])
    #expect(try reaches() == false)
    try write(other + kit.authority, to: authorities)
    ferry.signal(SIGHUP)
    #expect(ferry.hasLogged(Self.done))
    #expect(try codes() == [nil, nil])
    #expect(try reaches() == true)
    try write("-----BEGIN CERTIFICATE-----\n", to: authorities)
    ferry.signal(SIGHUP)
    #expect(ferry.hasLogged(#""level":"error","message":"ca-file: "#))
    #expect(try codes() == [nil, nil])
    // A kept connection or TLS session would skip the check of the next request.
    try write(other, to: authorities)
    ferry.signal(SIGHUP)
    #expect(ferry.hasLogged(Self.done, times: 2))
    #expect(try codes() == [-1203, nil])
    #expect(try reaches() == false)
  }

  private static func ownAuthority(_ kit: CertificateKit) -> String {
    #"{"tlsAdditionalRootCertificates":"\#(HandshakeFixture.escaped(kit.authority))"}"#
  }

  @Test func `running transfers continue`() throws {
    let (nginx, gate) = (try NginxServer(), Gate())
    let origin = TestOrigin { _, socket in
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
      gate.wait()
      try socket.write("cd")
      return true
    }
    let ferry = try FerryProcess(options: ["--ca-file", nginx.authorityFile])
    let id = try ferry.create(origin.url)
    _ = try ferry.poll("/v1/tasks/\(id)") { $0.received == 2 }
    ferry.signal(SIGHUP)
    #expect(ferry.hasLogged(Self.done))
    gate.open()
    #expect(try ferry.end(of: id)["error"] == .null)
    #expect(origin.requests.count == 1)
  }

  @Test func `webhooks use the new certificate authorities`() throws {
    let (nginx, kit) = (try NginxServer(), try CertificateKit.shared())
    try write(kit.leaves[.selfSigned] ?? "", to: authorities)
    let ferry = try FerryProcess(options: ["--ca-file", authorities])
    func complete(_ path: String) throws {
      let body = """
        {"kind":"data","resume":true,"request":{"url":"\(nginx.url(.plain, "/hello.txt"))"},\
        "completion":{"webhook":{"url":"\(nginx.url(.good, path))"}}}
        """
      #expect(try ferry.call("POST", "/v1/sessions/ses_shared/tasks", body).status == 201)
    }
    try complete("/bad")
    #expect(ferry.hasLogged("webhook attempt failed"))
    try write(kit.authority, to: authorities)
    ferry.signal(SIGHUP)
    #expect(ferry.hasLogged(Self.done))
    try complete("/good")
    func posts() -> [String] { nginx.log().filter { $0.hasPrefix("POST /good") } }
    Patience.wait { posts().isEmpty }
    #expect(!posts().isEmpty)
  }

  @Test func `worker reloads certificate authorities too`() throws {
    let (nginx, kit) = (try NginxServer(), try CertificateKit.shared())
    try write(kit.leaves[.selfSigned] ?? "", to: authorities)
    let ferry = try FerryProcess(options: ["--ca-file", authorities])
    let session = try ferry.background("a", #","delegate":{}"#).json.id
    let worker = try ferry.worker.wait()
    let url = nginx.url(.good, "/hello.txt")
    #expect(try ferry.runInBackground(url, session: session).errorCode == -1203)
    try write(kit.authority, to: authorities)
    ferry.signal(SIGHUP)
    for _ in 0..<1000 where !ferry.worker.log.contains("read the certificate authorities again") {
      usleep(20_000)
    }
    #expect(try ferry.runInBackground(url, session: session)["error"] == .null)
    try write("", to: authorities)
    ferry.signal(SIGHUP)
    for _ in 0..<1000 where !ferry.worker.log.contains("the earlier certificate authorities stay in use") {
      usleep(20_000)
    }
    #expect(ferry.worker.log.contains("the earlier certificate authorities stay in use"))
    #expect(try ferry.runInBackground(url, session: session)["error"] == .null)
    #expect(ferry.worker.pid == worker, "the worker was not restarted")
  }
}
