import Foundation
import JSON
import TestSupport
import Testing

/// Which of the schemes that a 401 offers is asked about, and what a 401 is that offers none.
@Suite(.serialized, .blocking, .sharing) struct SchemeTests {
  private let place: APIPlace
  private let session: String
  private static let basic = #"Basic realm="b, with \"Digest nonce=1\"", charset="UTF-8""#
  private static let digest = #"Digest realm="d", nonce="n", qop="auth""#

  init() throws {
    place = try .ofSuite()
    session = try place.session(delegate: #"{"sessionChallenges":"ask","taskChallenges":"ask"}"#)
  }

  /// Refuses everybody, but those that Basic lets in.
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

  /// Every challenge of a task, refused one after the other: types of the events and methods.
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
  ]) func theStrongestIsAskedAboutFirst(_ fields: [String]) throws {
    let origin = Self.origin(fields)
    let id = try place.create(origin.url + "/", session: session)
    let offers = try offers(of: id)
    #expect(offers.map(\.method) == ["Negotiate", "HTTPDigest", "NTLM", "HTTPBasic"])
    let types = ["session", "task", "session", "task"].map { $0 + ".didReceiveChallenge" }
    #expect(offers.map(\.type) == types)
    #expect(try place.task(id).status == 401 && place.body(of: id) == Array("out".utf8))
    #expect(origin.requests.count == 1)
  }

  /// The weakest is used where the stronger ones were refused.
  @Test func theNextIsUsedWhereOneIsRejected() throws {
    let origin = Self.origin([Self.digest, Self.basic])
    let id = try place.create(origin.url + "/", session: session)
    let first = try place.login(of: id)
    try place.answer(first.decision, LoginAnswer.reject)
    let second = try place.login(of: id, after: first.id ?? 0)
    #expect(second.data["protectionSpace"]?["realm"]?.string == #"b, with "Digest nonce=1""#)
    try place.answer(second.decision, LoginAnswer.use("alice", "s3cret:ü"))
    #expect(try place.end(of: id).status == 200 && origin.requests.count == 2)
  }

  /// What was rejected stays so for the task, and what failed counts for the next scheme (URLAuthenticationChallenge).
  @Test func failuresOfAllSchemesAreCounted() throws {
    let origin = Self.origin([Self.digest, Self.basic])
    let id = try place.create(origin.url + "/", session: session)
    var (sequence, seen) = (Int64(0), [String]())
    for answer in [
      LoginAnswer.use("alice", "wrong"), LoginAnswer.reject, LoginAnswer.use("alice", "wrong too"),
      LoginAnswer.use("alice", "s3cret:ü"),
    ] {
      let event = try place.login(of: id, after: sequence)
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
  ]) func whatNobodyCanAnswerPassesUnasked(_ fields: [String]) throws {
    let origin = Self.origin(fields)
    for kind in ["data", "download"] {
      let id = try place.create(origin.url + "/", kind: kind, session: session)
      #expect(try !place.story(of: id).contains { $0.type.hasSuffix("Challenge") })
      #expect(try place.task(id).status == 401 && place.body(of: id) == Array("out".utf8))
    }
    #expect(origin.requests.count == 2)
  }

  @Test(arguments: ["basic REALM=x", "BASIC realm = \"x\"", "Basic", "Basic foo=\"a,b\" , realm=\"x\""])
  func challengesAreReadAsTheyAreWritten(_ field: String) throws {
    let origin = Self.origin([field])
    let id = try place.create(origin.url + "/", session: session)
    let event = try place.login(of: id)
    #expect(event.data["protectionSpace"]?["realm"]?.string == (field == "Basic" ? nil : "x"))
    try place.answer(event.decision, LoginAnswer.cancel)
    #expect(try place.end(of: id).errorCode == -999 && origin.requests.count == 1)
  }

  /// 401 and 407 that are not about credentials here: a 407 of an origin is an answer like any other.
  @Test func a407OfAnOriginIsItsAnswer() throws {
    let origin = TestOrigin { _, socket in
      let fields = [("Proxy-Authenticate", Self.basic), ("WWW-Authenticate", Self.basic)]
      try socket.write(TestOrigin.reply("407 Proxy Authentication Required", [], fields))
      return true
    }
    #expect(try place.run(origin.url + "/", session: session).status == 407)
    #expect(origin.requests.count == 1)
  }
}
