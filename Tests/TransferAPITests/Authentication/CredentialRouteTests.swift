import JSON
import TestSupport
import Testing

/// `/v1/sessions/{id}/credentials`: store, list and delete.
@Suite(.serialized, .blocking, .sharing) struct CredentialRouteTests {
  private let place: InProcessAPI
  private let session: String
  private var path: String { "/v1/sessions/\(session)/credentials" }

  init() throws {
    place = try .ofSuite()
    session = try place.session()
  }

  private func put(_ space: String, _ credential: String, session: String? = nil) throws -> HTTPReply {
    let path = session.map { "/v1/sessions/\($0)/credentials" } ?? path
    return try place.call("PUT", path, #"{"protectionSpace":\#(space),"credential":\#(credential)}"#)
  }

  private func listed(_ query: String = "") throws -> [String] {
    try place.call("GET", path + query).json["items"]?.elements?.map { item in
      let (space, credential) = (item["protectionSpace"], item["credential"])
      return
        "\(space?["host"]?.string ?? "") \(space?["port"]?.integer ?? 0) \(credential?["user"]?.string ?? "-")"
    } ?? []
  }

  @Test func `latest credential of a protection space replaces the earlier one`() throws {
    let first = try put(#"{"host":"A.test"}"#, #"{"user":"alice","password":"x"}"#)
    #expect(first.status == 200 && first.json["credential"]?["persistence"]?.string == "forSession")
    #expect(
      first.json["credential"]?["password"] == nil
        && first.json["protectionSpace"]?["host"]?.string == "a.test")
    _ = try put(#"{"host":"a.test"}"#, #"{"user":"bob","password":"x","persistence":"permanent"}"#)
    _ = try put(#"{"host":"a.test","port":8443,"realm":"r"}"#, #"{"user":"carol","password":"x"}"#)
    #expect(try listed() == ["a.test 443 bob", "a.test 8443 carol"])
    #expect(try listed("?realm=r") == ["a.test 8443 carol"])
    #expect(try place.call("GET", "/v1/sessions/ses_shared/credentials").json["items"]?.elements == [])
  }

  @Test(arguments: [false, true]) func `session credentials end with their session`(_ hasTask: Bool) throws {
    _ = try put(#"{"host":"a.test"}"#, #"{"user":"alice","password":"x"}"#)
    _ = try put(#"{"host":"b.test"}"#, #"{"user":"bob","password":"x","persistence":"permanent"}"#)
    let task = hasTask ? try place.create("http://a.test/", session: session, resume: false) : nil
    _ = try place.call("POST", "/v1/sessions/\(session)/invalidate", #"{"mode":"finishTasks"}"#)
    if let task {
      #expect(
        try listed() == ["a.test 443 alice", "b.test 443 bob"],
        "the credentials stay while a task may need them")
      _ = try place.act("cancel", task)
      _ = try place.end(of: task)
    }
    #expect(try place.call("GET", "/v1/sessions/\(session)").json["state"]?.string == "invalid")
    #expect(try listed() == ["b.test 443 bob"])
    #expect(try place.call("DELETE", "/v1/sessions/\(session)").status == 204)
  }

  @Test func `credentials are deleted by query, by body or all together`() throws {
    for host in ["a.test", "b.test", "c.test", "d.test"] {
      _ = try put(#"{"host":"\#(host)"}"#, #"{"user":"u","password":"x","persistence":"permanent"}"#)
    }
    #expect(try place.call("DELETE", path + "?host=a.test").status == 204)
    #expect(try place.call("DELETE", path, #"{"protectionSpace":{"host":"b.test"}}"#).status == 204)
    #expect(try place.call("DELETE", path + "?host=a.test").status == 204, "a repeated deletion succeeds")
    #expect(try listed() == ["c.test 443 u", "d.test 443 u"])
    #expect(try place.call("DELETE", path + "?hots=c.test").status == 400)
    #expect(try place.call("DELETE", path, #"{"space":{}}"#).status == 400)
    #expect(try listed().count == 2)
    #expect(try place.call("DELETE", path).status == 204)
    #expect(try listed() == [])
  }

  @Test(arguments: [
    (#"{}"#, #"{"user":"u","password":"p"}"#, "/protectionSpace/host"),
    (#"{"host":"a"}"#, #"{"user":"u"}"#, "/credential/password"),
    (#"{"host":"a"}"#, #"{"user":"u","password":"p","persistence":"none"}"#, "/credential/persistence"),
    (#"{"host":"a"}"#, #"{"clientCertificate":"c","privateKey":"k"}"#, "/credential/user"),
    (#"{"host":"a"}"#, #"{"trust":true}"#, "/credential/trust"),
    (
      #"{"host":"a","authenticationMethod":"NSURLAuthenticationMethodClientCertificate"}"#,
      #"{"user":"u","password":"p"}"#, "/credential/clientCertificate"
    ),
    (
      #"{"host":"a","authenticationMethod":"NSURLAuthenticationMethodClientCertificate"}"#,
      #"{"clientCertificate":"c","privateKey":"k"}"#, "/credential/clientCertificate"
    ),
    (
      #"{"host":"a","authenticationMethod":"Basic"}"#, #"{"user":"u","password":"p"}"#,
      "/protectionSpace/authenticationMethod"
    ),
  ])
  func `wrong credential field is named`(_ space: String, _ credential: String, _ pointer: String) throws {
    let reply = try put(space, credential)
    let pointers = reply.json["errors"]?.elements?.compactMap { $0["pointer"]?.string } ?? []
    #expect(reply.status == 400 && pointers.contains(pointer), "\(reply.text)")
    #expect(try listed() == [])
  }

  @Test func `session without credential storage refuses credentials`() throws {
    let none = try place.session(#"{"urlCredentialStorage":false}"#)
    #expect(try put(#"{"host":"a"}"#, #"{"user":"u","password":"p"}"#, session: none).status == 409)
    #expect(
      try place.call("GET", "/v1/sessions/\(none)").json["configuration"]?["urlCredentialStorage"]?.bool
        == false)
    let gone = "ses_00000000-0000-7000-8000-000000000000"
    #expect(try put(#"{"host":"a"}"#, #"{"user":"u","password":"p"}"#, session: gone).status == 404)
  }

  @Test func `deleted session deletes its credentials`() throws {
    _ = try put(#"{"host":"a.test"}"#, #"{"user":"u","password":"p","persistence":"permanent"}"#)
    _ = try place.call("POST", "/v1/sessions/\(session)/invalidate", #"{"mode":"cancelTasks"}"#)
    #expect(try place.call("DELETE", "/v1/sessions/\(session)").status == 204)
    #expect(try place.call("GET", path).status == 404)
  }
}
