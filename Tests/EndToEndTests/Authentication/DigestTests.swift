import Crypto
import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// Digest algorithms, forms and nonces that real servers do not use (RFC 7616, RFC 2069).
@Suite(.serialized, .blocking, .sharing) struct DigestTests {
  private let ferry: FerryProcess
  private let session: String
  private static let right = LoginAnswer.use("Mufasa", "Circle of Life", "forSession")

  init() throws {
    ferry = try .ofSuite()
    session = try ferry.session(FerryProcess.uncached, delegate: FerryProcess.asksForLogin)
  }

  /// An origin that accepts only correct Digest responses.
  /// - Parameters:
  ///   - fields: The values of its `WWW-Authenticate` fields.
  ///   - nonces: The nonces, in order. Each correct response advances to the next.
  private static func origin(_ fields: [String], nonces: [String] = ["n"], info: Bool = false) -> TestOrigin {
    let state = Mutex(nonces)
    let shared = Nonces(state)
    return TestOrigin { request, socket in
      guard let shown = Shown(request), shared.current == shown["nonce"], shown.isRight(for: request) else {
        let challenges = fields.map { ("WWW-Authenticate", $0.replacing("$n", with: shared.current)) }
        try socket.write(TestOrigin.reply("401 Unauthorized", Array("no".utf8), challenges))
        return true
      }
      shared.advance()
      let next = [("Authentication-Info", "rspauth=\"\", nextnonce=\"\(shared.current)\", qop=auth")]
      try socket.write(TestOrigin.reply("200 OK", Array("yes".utf8), info ? next : []))
      return true
    }
  }

  private final class Nonces: Sendable {
    private let state: Mutex<[String]>
    init(_ state: consuming Mutex<[String]>) { self.state = state }
    var current: String { state.withLock { $0[0] } }
    func advance() { state.withLock { if $0.count > 1 { $0.removeFirst() } } }
  }

  /// The parameters of an `Authorization` field.
  private struct Shown {
    private var values: [String: String] = [:]
    subscript(_ name: String) -> String? { values[name] }
    var algorithm: String { values["algorithm"] ?? "MD5" }

    init?(_ request: TestOrigin.Request) {
      guard let text = request["Authorization"], text.hasPrefix("Digest ") else { return nil }
      for match in text.dropFirst(7).matches(of: /(\w+)=(?:"((?:[^"\\]|\\.)*)"|([^,\s]*))/) {
        values[String(match.1)] = String(match.2 ?? match.3 ?? "").replacing("\\", with: "")
      }
    }

    private func hash(_ text: String) -> String {
      let bytes = Data(text.utf8)
      let digest: [UInt8] =
        switch algorithm.lowercased().prefix(7) {
        case "sha-512": (try? OpenSSL.run("dgst -sha512-256 -binary", input: Array(bytes))) ?? []
        case "sha-256": Array(SHA256.hash(data: bytes))
        default: Array(Insecure.MD5.hash(data: bytes))
        }
      return digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    func isRight(for request: TestOrigin.Request) -> Bool {
      guard let nonce = self["nonce"], let realm = self["realm"], self["uri"] == request.path else {
        return false
      }
      var secret = hash("Mufasa:\(realm):Circle of Life")
      let client = self["cnonce"] ?? ""
      if algorithm.hasSuffix("-sess") { secret = hash("\(secret):\(nonce):\(client)") }
      let quality = self["qop"].map { ":\(self["nc"] ?? ""):\(client):\($0)" } ?? ""
      let body = self["qop"] == "auth-int" ? ":" + hash(String(decoding: request.body, as: UTF8.self)) : ""
      return self["response"]
        == hash("\(secret):\(nonce)\(quality):\(hash("\(request.method):\(request.path)\(body)"))")
    }
  }

  private func logIn(_ origin: TestOrigin, _ path: String = "/dir/index.html?q=1&r=a%20b") throws -> Shown {
    let task = try ferry.run(origin.url + path, in: session, answers: [Self.right])
    #expect(task.status == 200 && task["error"] == .null)
    return try #require(origin.requests.last.flatMap { Shown($0) })
  }

  /// Runs two tasks with one request. Only the first is asked for a login.
  private func runTwice(_ kind: String, _ request: String) throws {
    for turn in 1...2 {
      let id = try ferry.call(
        "POST", "/v1/sessions/\(session)/tasks", #"{"kind":"\#(kind)","resume":true,"request":\#(request)}"#
      ).json.id
      if turn == 1 { try ferry.answer(try ferry.challengeEvent(of: id).decision, Self.right) }
      #expect(try ferry.end(of: id).status == 200)
    }
  }

  // MARK: Algorithms and forms

  @Test(
    arguments: ["MD5", "MD5-sess", "SHA-256", "SHA-256-sess", "md5", "sha-256", "SHA-512-256"],
    ["auth", "auth-int, auth"])
  func `each algorithm is supported`(_ algorithm: String, _ qualities: String) throws {
    let realm = #"a \"quoted\" realm, with commas"#
    let origin = Self.origin([
      #"Digest realm="\#(realm)", qop="\#(qualities)", algorithm=\#(algorithm), nonce="$n", opaque="o=/+p""#
    ])
    let shown = try logIn(origin)
    #expect(shown.algorithm.lowercased() == algorithm.lowercased() && shown["qop"] == "auth")
    #expect(shown["nc"] == "00000001" && shown["opaque"] == "o=/+p" && shown["username"] == "Mufasa")
    #expect(origin.requests.count == 2)
  }

  private static let md5 = #"Digest realm="r", qop="auth", algorithm=MD5, nonce="$n""#
  private static let sha = #"Digest realm="r", qop="auth", algorithm=SHA-256, nonce="$n""#

  private static let sha512 = #"Digest realm="r", algorithm=SHA-512-256, nonce="$n", qop="auth""#

  /// RFC 7616 §3.9.1: the client uses the strongest algorithm that it supports.
  @Test(arguments: [
    ([md5, sha], "SHA-256"), ([sha, md5], "SHA-256"), ([md5 + ", " + sha], "SHA-256"),
    ([sha + ", " + md5], "SHA-256"), ([sha512, md5, sha], "SHA-512-256"), ([sha, sha512], "SHA-512-256"),
    ([#"Digest realm="r", algorithm=SHA-512-224, nonce="$n", qop="auth""#, md5, sha], "SHA-256"),
  ]) func `strongest supported algorithm is used`(_ fields: [String], _ algorithm: String) throws {
    #expect(try logIn(Self.origin(fields)).algorithm == algorithm)
  }

  /// The digest covers a body in memory, and the empty body of a request without one.
  @Test(arguments: ["GET", "PUT some text", "POST €"], ["MD5", "SHA-512-256"])
  func `digest of auth-int covers a body in memory`(_ message: String, _ algorithm: String) throws {
    let method = String(message.prefix { $0 != " " })
    let body = message.dropFirst(method.count + 1)
    let origin = Self.origin([#"Digest realm="r", qop="auth-int", algorithm=\#(algorithm), nonce="$n""#])
    let member = body.isEmpty ? "" : #","body":{"text":"\#(body)"}"#
    let request = #"{"url":"\#(origin.url)/x","method":"\#(method)"\#(member)}"#
    try runTwice("data", request)
    #expect(origin.requests.count == 3 && origin.requests.last.flatMap { Shown($0) }?["qop"] == "auth-int")
  }

  /// Ferry digests a stored file before it sends the request, in several steps if the file is large.
  @Test(arguments: [("SHA-256", 0), ("SHA-256", 3 << 20), ("SHA-512-256-sess", 100)])
  func `digest of auth-int covers a stored file`(_ algorithm: String, _ size: Int) throws {
    let origin = Self.origin([#"Digest realm="r", qop="auth-int", algorithm=\#(algorithm), nonce="$n""#])
    let text = String(repeating: "x", count: size)
    let file = try ferry.call("POST", "/v1/files", text, [("Content-Type", "text/plain")]).json.id
    let request = #"{"url":"\#(origin.url)/x","method":"PUT","body":{"file":"\#(file)"}}"#
    try runTwice("upload", request)
    #expect(origin.requests.count == 3 && origin.requests.last?.body.count == size)
  }

  /// A large body is in a file of its own.
  @Test func `digest of auth-int covers a large body`() throws {
    let origin = Self.origin([#"Digest realm="r", qop="auth-int", algorithm=SHA-256, nonce="$n""#])
    let text = String(repeating: "x", count: 200_000)
    try runTwice("data", #"{"url":"\#(origin.url)/x","method":"PUT","body":{"text":"\#(text)"}}"#)
    #expect(origin.requests.count == 3 && origin.requests.last?.body == Array(text.utf8))
  }

  /// Ferry does not keep a stream, so the 401 is the response. The next request is not affected.
  @Test func `stream cannot answer auth-int alone`() throws {
    let origin = Self.origin([#"Digest realm="r", qop="auth-int", nonce="$n""#])
    #expect(try ferry.run(origin.url + "/x", in: session, answers: [Self.right]).status == 200)
    let request = #"{"url":"\#(origin.url)/x","method":"PUT","body":{"stream":true}}"#
    let id = try ferry.call(
      "POST", "/v1/sessions/\(session)/tasks", #"{"kind":"upload","resume":true,"request":\#(request)}"#
    ).json.id
    _ = try ferry.call("PUT", "/v1/tasks/\(id)/body", "some text")
    #expect(try ferry.end(of: id).status == 401)
    #expect(origin.requests.last?["Authorization"] == nil)
    #expect(try ferry.run(origin.url + "/y", session: session).status == 200)
  }

  /// RFC 2069: without `qop`, the response has no `cnonce` and no `nc`.
  @Test(arguments: [#"Digest realm="r", nonce="$n""#, #"digest nonce="$n",realm="r",opaque="x""#])
  func `response without qop is supported`(_ field: String) throws {
    let origin = Self.origin([field])
    let shown = try logIn(origin)
    #expect(shown["qop"] == nil && shown["nc"] == nil && shown["cnonce"] == nil)
    #expect(try ferry.run(origin.url + "/next", session: session).status == 200)
    #expect(origin.requests.count == 3)
  }

  /// Challenges that Ferry does not support are not passed to the delegate.
  @Test(arguments: [
    #"Digest realm="r", nonce="n", algorithm=SHA-512-224, qop="auth""#,
    #"Digest realm="r", nonce="n", qop="auth-conf""#, #"Digest realm="r", qop="auth""#, "Digest",
  ]) func `unsupported challenge is not passed to the delegate`(_ field: String) throws {
    let origin = Self.origin([field])
    let id = try ferry.create(origin.url + "/", session: session)
    #expect(try !ferry.story(of: id).contains { $0.type.hasSuffix("Challenge") })
    #expect(try ferry.task(id).status == 401 && origin.requests.count == 1)
  }

  // MARK: Nonces

  @Test func `nonce is counted until the server sends the next`() throws {
    let field = Self.md5
    let same = Self.origin([field])
    _ = try logIn(same)
    let next = Self.origin([field], nonces: ["a", "b", "c", "d"], info: true)
    #expect(try logIn(next)["nonce"] == "a")
    for (index, nonce) in ["b", "c", "d", "d"].enumerated() {
      #expect(try ferry.run(same.url + "/\(index)", session: session).status == 200)
      let counted = try #require(same.requests.last.flatMap { Shown($0) })
      #expect(counted["nc"] == "0000000\(index + 2)" && counted["nonce"] == "n")
      #expect(try ferry.run(next.url + "/\(index)", session: session).status == 200)
      let fresh = try #require(next.requests.last.flatMap { Shown($0) })
      #expect(fresh["nonce"] == nonce && fresh["nc"] == (index == 3 ? "00000002" : "00000001"))
    }
    #expect(same.requests.count == 6 && next.requests.count == 6)
  }

  /// Some cameras accept each nonce once, and do not report the earlier one as stale.
  @Test func `server may require a new nonce for each request`() throws {
    let origin = Self.origin([Self.md5], nonces: (0..<10).map { "n\($0)" })
    _ = try logIn(origin)
    for index in 1...3 {
      let id = try ferry.create(origin.url + "/\(index)", session: session)
      #expect(try !ferry.story(of: id).contains { $0.type.hasSuffix("Challenge") })
      #expect(try ferry.task(id).status == 200)
      let shown = try #require(origin.requests.last.flatMap { Shown($0) })
      #expect(shown["nonce"] == "n\(index)" && shown["nc"] == "00000001")
    }
    #expect(origin.requests.count == 2 + 3 * 2)
  }

  @Test func `client nonce is new for each request`() throws {
    let origin = Self.origin([Self.sha])
    _ = try logIn(origin)
    for index in 0..<5 { _ = try ferry.run(origin.url + "/\(index)", session: session) }
    let nonces = origin.requests.compactMap { Shown($0)?["cnonce"] }
    #expect(nonces.count == 6 && Set(nonces).count == 6)
  }

  /// A stale nonce does not mean a wrong password, so the delegate is not asked (RFC 7616 §3.3).
  @Test func `stale nonce is replaced without a challenge`() throws {
    let stale = Self.md5 + ", stale=TRUE"
    let origin = Self.origin([stale], nonces: ["a", "b"])
    _ = try logIn(origin)
    let id = try ferry.create(origin.url + "/again", session: session)
    #expect(try !ferry.story(of: id).contains { $0.type.hasSuffix("Challenge") })
    #expect(try ferry.task(id).status == 200)
    #expect(origin.requests.count == 4 && origin.requests.last.flatMap { Shown($0) }?["nonce"] == "b")
  }

  /// Ferry stops retrying if the server reports every nonce as stale.
  @Test func `endless stale nonces end with a 401`() throws {
    let origin = TestOrigin { _, socket in
      let field = Self.md5.replacing("$n", with: "\(Int.random(in: 0 ... .max))") + ", stale=true"
      try socket.write(TestOrigin.reply("401 Unauthorized", [], [("WWW-Authenticate", field)]))
      return true
    }
    let task = try ferry.run(
      origin.url + "/", in: session, answers: [Self.right, LoginAnswer.byDefault])
    #expect(task.status == 401 && origin.requests.count < 10)
  }

  /// Apache's nonces become stale by time alone.
  @Test func `nonce that expired at Apache is replaced`() throws {
    let apache = try ApacheServer()
    let url = apache.url(.plain, "/stale/hello.txt")
    let answer = LoginAnswer.use(ApacheServer.user, ApacheServer.digestPassword, "forSession")
    #expect(try ferry.run(url, in: session, answers: [answer]).status == 200)
    usleep(2_100_000)
    let id = try ferry.create(url, session: session)
    #expect(try !ferry.story(of: id).contains { $0.type.hasSuffix("Challenge") })
    #expect(try ferry.body(of: id) == NginxServer.contents(5000))
    let log = apache.log(atLeast: 4).map { $0.split(separator: " ")[2] }
    #expect(log == ["401", "200", "401", "200"])
  }
}
