import Foundation
import JSON
import TestSupport
import Testing

/// The schemes that a 401 offers: their order, and a 401 without a known scheme.
@Suite(.serialized, .blocking, .sharing) struct SchemeTests {
  private let place: InProcessAPI
  private let session: String
  private static let basic = #"Basic realm="b, with \"Digest nonce=1\"", charset="UTF-8""#
  private static let digest = #"Digest realm="d", nonce="n", qop="auth""#

  init() throws {
    place = try .ofSuite()
    session = try place.session(delegate: #"{"sessionChallenges":"ask","taskChallenges":"ask"}"#)
  }

  /// Makes an origin that accepts one Basic login and refuses every other request.
  private static func origin(_ fields: [String]) -> TestOrigin {
    let good = "Basic " + Data("alice:s3cret:ü".utf8).base64EncodedString()
    return TestOrigin { request, socket in
      let isGood = request["Authorization"] == good
      let challenges = fields.map { ("WWW-Authenticate", $0) }
      try socket.write(
        isGood
          ? TestOrigin.reply("200 OK", Array("in".utf8))
          : TestOrigin.reply("401 Unauthorized", Array("out".utf8), challenges))
      return true
    }
  }

  /// Rejects every challenge of a task. Returns the type and method of each.
  private func offers(of id: String) throws -> [(type: String, method: String)] {
    var offers: [(String, String)] = []
    let reader = try place.events("/v1/tasks/\(id)/events?after=0&progress=false")
    while let event = try reader.next(), event.type != "task.didComplete" {
      guard event.type.hasSuffix("Challenge") else { continue }
      let method = event.data["protectionSpace"]?["authenticationMethod"]?.string ?? ""
      offers.append((event.type, String(method.dropFirst("NSURLAuthenticationMethod".count))))
      #expect(event.data["previousFailureCount"]?.integer == 0)
      try place.answer(event.decision, LoginAnswer.reject)
    }
    return offers
  }

  @Test(arguments: [
    [basic, "NTLM", digest, "Negotiate"], ["Negotiate, NTLM, \(basic), \(digest)"],
    ["\(digest), Negotiate", "Bearer realm=\"x\", error=\"invalid_token\", \(basic)", "NTLM"],
    ["Hawk abc==, ,,\(basic),  NTLM ,\(digest)", "", "negotiate"],
  ]) func `strongest scheme is offered first`(_ fields: [String]) throws {
    let origin = Self.origin(fields)
    let id = try place.create(origin.url + "/", session: session)
    let offers = try offers(of: id)
    #expect(offers.map(\.method) == ["Negotiate", "HTTPDigest", "NTLM", "HTTPBasic"])
    let types = ["session", "task", "session", "task"].map { $0 + ".didReceiveChallenge" }
    #expect(offers.map(\.type) == types)
    #expect(try place.task(id).status == 401 && place.body(of: id) == Array("out".utf8))
    #expect(origin.requests.count == 1)
  }

  /// A weaker scheme is used if the stronger ones were rejected.
  @Test func `next scheme is offered after one is rejected`() throws {
    let origin = Self.origin([Self.digest, Self.basic])
    let id = try place.create(origin.url + "/", session: session)
    let first = try place.challengeEvent(of: id)
    try place.answer(first.decision, LoginAnswer.reject)
    let second = try place.challengeEvent(of: id, after: first.id ?? 0)
    #expect(second.data["protectionSpace"]?["realm"]?.string == #"b, with "Digest nonce=1""#)
    try place.answer(second.decision, LoginAnswer.use("alice", "s3cret:ü"))
    #expect(try place.end(of: id).status == 200 && origin.requests.count == 2)
  }

  /// A rejected scheme stays rejected for the task, and a failure also counts for the next scheme
  /// (URLAuthenticationChallenge).
  @Test func `previous failure count includes failures of all schemes`() throws {
    let origin = Self.origin([Self.digest, Self.basic])
    let id = try place.create(origin.url + "/", session: session)
    var (sequence, seen) = (Int64(0), [String]())
    for answer in [
      LoginAnswer.use("alice", "wrong"), LoginAnswer.reject, LoginAnswer.use("alice", "wrong too"),
      LoginAnswer.use("alice", "s3cret:ü"),
    ] {
      let event = try place.challengeEvent(of: id, after: sequence)
      sequence = event.id ?? 0
      let method = event.data["protectionSpace"]?["authenticationMethod"]?.string ?? ""
      seen.append("\(method.suffix(6)) \(event.data["previousFailureCount"]?.integer ?? -1)")
      try place.answer(event.decision, answer)
    }
    #expect(seen == ["Digest 0", "Digest 1", "PBasic 1", "PBasic 2"])
    #expect(try place.end(of: id).status == 200 && origin.requests.count == 4)
  }

  @Test(arguments: [
    ["Bearer realm=\"x\""], ["Bearer"], ["Bearer abc, Hawk, AWS4-HMAC-SHA256"], [], [""], [","],
    ["\"Basic\""],
    ["realm=\"Basic\""], ["Digest"], ["Basicrealm=\"x\""],
  ]) func `response without a known scheme is delivered without a decision`(_ fields: [String]) throws {
    let origin = Self.origin(fields)
    for kind in ["data", "download"] {
      let id = try place.create(origin.url + "/", kind: kind, session: session)
      #expect(try !place.story(of: id).contains { $0.type.hasSuffix("Challenge") })
      #expect(try place.task(id).status == 401 && place.body(of: id) == Array("out".utf8))
    }
    #expect(origin.requests.count == 2)
  }

  @Test(arguments: ["basic REALM=x", "BASIC realm = \"x\"", "Basic", "Basic foo=\"a,b\" , realm=\"x\""])
  func `realm is read from any spelling of a challenge`(_ field: String) throws {
    let origin = Self.origin([field])
    let id = try place.create(origin.url + "/", session: session)
    let event = try place.challengeEvent(of: id)
    #expect(event.data["protectionSpace"]?["realm"]?.string == (field == "Basic" ? nil : "x"))
    try place.answer(event.decision, LoginAnswer.cancel)
    #expect(try place.end(of: id).errorCode == -999 && origin.requests.count == 1)
  }

  /// An origin's 407 is an ordinary response, because it does not come from a proxy.
  @Test func `proxy challenge of an origin is its response`() throws {
    let origin = TestOrigin { _, socket in
      let fields = [("Proxy-Authenticate", Self.basic), ("WWW-Authenticate", Self.basic)]
      try socket.write(TestOrigin.reply("407 Proxy Authentication Required", [], fields))
      return true
    }
    #expect(try place.run(origin.url + "/", session: session).status == 407)
    #expect(origin.requests.count == 1)
  }
}
