import JSON
import TestSupport
import Testing

/// The routes of webhook endpoints.
@Suite(.serialized, .blocking) struct EndpointRouteTests {
  private let place: InProcessAPI
  private static let path = "/v1/webhooks/endpoints"

  init() throws { place = try InProcessAPI() }

  private func create(_ members: String = "") throws -> HTTPReply {
    try place.call("POST", Self.path, #"{"url":"http://a.test/hook?token=x"\#(members)}"#)
  }

  @Test func `secret is shown once`() throws {
    let reply = try create(#","description":"d","headers":{"X-A":"b","Authorization":"Bearer x"}"#)
    #expect(reply.status == 201 && reply["Location"] == "\(Self.path)/\(reply.json.id)")
    #expect(reply.json["secret"]?.string?.hasPrefix("whsec_") == true)
    #expect(reply.json["url"]?.string == "http://a.test/hook")
    #expect(reply.json["events"]?.strings == ["task.didComplete"])
    #expect(reply.json["state"]?.string == "enabled" && reply.json["order"]?.string == "task")
    #expect(reply.json["headers"]?["Authorization"]?.string == "(redacted)")
    let read = try place.call("GET", "\(Self.path)/\(reply.json.id)")
    #expect(read.status == 200 && read.json["secret"] == nil && read["ETag"] == reply["ETag"])
    let list = try place.call("GET", Self.path)
    #expect(list.json["items"]?.elements?.map(\.id) == [reply.json.id])
    #expect(!list.text.contains("whsec_") && !list.text.contains("token"))
  }

  @Test func `repeated creation has the same secret`() throws {
    let fields = [("Idempotency-Key", "\"k\"")]
    let body = #"{"url":"http://a.test/"}"#
    let first = try place.call("POST", Self.path, body, fields)
    let second = try place.call("POST", Self.path, body, fields)
    #expect(first.json["secret"] != nil && first.text == second.text)
  }

  @Test func `change keeps the members that it does not name`() throws {
    let endpoint = try create(#","headers":{"Authorization":"Bearer x"},"maximumPerSecond":5"#)
    let path = "\(Self.path)/\(endpoint.json.id)"
    let changed = try place.call(
      "PATCH", path,
      #"{"events":["task.didCreate"],"order":"none","maximumConcurrency":2,"maximumPerSecond":null,"#
        + #""headers":{"Authorization":"(redacted)","X":"y"}}"#, [("If-Match", endpoint["ETag"] ?? "")])
    #expect(changed.status == 200 && changed.json["url"]?.string == "http://a.test/hook")
    #expect(changed.json["events"]?.strings == ["task.didCreate"])
    #expect(changed.json["order"]?.string == "none" && changed.json["maximumConcurrency"]?.integer == 2)
    #expect(changed.json["maximumPerSecond"] == .null && changed.json["headers"]?["X"]?.string == "y")
    let stale = try place.call("PATCH", path, "{}", [("If-Match", endpoint["ETag"] ?? "")])
    #expect(stale.status == 412)
    #expect(try place.call("PATCH", path, #"{"state":"disabled"}"#).json["state"]?.string == "disabled")
    #expect(try place.call("POST", path + "/test").status == 409)
    let enabled = try place.call("PATCH", path, #"{"state":"enabled"}"#)
    #expect(enabled.json["state"]?.string == "enabled" && enabled.json["disabledReason"] == .null)
    #expect(try place.call("DELETE", path).status == 204)
    #expect(try place.call("GET", path).status == 404)
    #expect(try place.call("DELETE", path).status == 404)
  }

  @Test func `secret field is not sent to another host`() throws {
    let endpoint = try create(#","headers":{"Authorization":"Bearer x"}"#)
    let path = "\(Self.path)/\(endpoint.json.id)"
    func change(_ members: String) throws -> HTTPReply {
      try place.call("PATCH", path, #"{"url":"http://b.test/"\#(members)}"#)
    }
    let silent = try change("")
    #expect(silent.status == 400)
    #expect(silent.json["errors"]?.elements?.first?["pointer"]?.string == "/headers")
    #expect(try change(#","headers":{"Authorization":"(redacted)"}"#).status == 400)
    #expect(try change(#","headers":{"Authorization":"Bearer y"}"#).status == 200)
  }

  @Test func `rotation makes another secret`() throws {
    let endpoint = try create()
    let path = "\(Self.path)/\(endpoint.json.id)/rotate-secret"
    let rotated = try place.call("POST", path, #"{"overlap":60}"#)
    #expect(rotated.status == 200 && rotated.json["secret"]?.string?.hasPrefix("whsec_") == true)
    #expect(rotated.json["secret"] != endpoint.json["secret"])
    let own = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    #expect(try place.call("POST", path, #"{"secret":"\#(own)"}"#).json["secret"]?.string == own)
    #expect(try place.call("POST", path).status == 200)
  }

  @Test func `Ed25519 endpoint shows its public key`() throws {
    let endpoint = try create(#","signature":"v1a""#)
    #expect(endpoint.status == 201 && endpoint.json["secret"] == nil)
    #expect(endpoint.json["publicKey"]?.string?.hasPrefix("whpk_") == true)
    let rotated = try place.call("POST", "\(Self.path)/\(endpoint.json.id)/rotate-secret", "{}")
    #expect(rotated.json["publicKey"] != endpoint.json["publicKey"])
  }

  struct Bad: Sendable, CustomTestStringConvertible {
    let body: String
    let pointer: String
    var status = 400
    var testDescription: String { body }
  }

  private static let bad = [
    Bad(body: "{}", pointer: "/url"), Bad(body: #"{"url":"nowhere"}"#, pointer: "/url"),
    Bad(body: #"{"url":"ftp://a.test/"}"#, pointer: "/url"),
    Bad(body: #"{"url":"http://a.test/","events":["x"]}"#, pointer: "/events/0"),
    Bad(body: #"{"url":"http://a.test/","events":["downloadTask.didWriteData"]}"#, pointer: "/events/0"),
    Bad(body: #"{"url":"http://a.test/","events":["webhook.test"]}"#, pointer: "/events/0"),
    Bad(body: #"{"url":"http://a.test/","order":"any"}"#, pointer: "/order"),
    Bad(body: #"{"url":"http://a.test/","signature":"v2"}"#, pointer: "/signature"),
    Bad(body: #"{"url":"http://a.test/","headers":{"webhook-id":"x"}}"#, pointer: "/headers/webhook-id"),
    Bad(body: #"{"url":"http://a.test/","headers":{"a b":"x"}}"#, pointer: "/headers/a b"),
    Bad(body: #"{"url":"http://a.test/","headers":{"Cookie":"(redacted)"}}"#, pointer: "/headers/Cookie"),
    Bad(body: #"{"url":"http://a.test/","maximumConcurrency":0}"#, pointer: "/maximumConcurrency"),
    Bad(body: #"{"url":"http://a.test/","maximumPerSecond":0}"#, pointer: "/maximumPerSecond"),
    Bad(body: #"{"url":"http://a.test/","secret":"x"}"#, pointer: "/secret"),
    Bad(
      body: #"{"url":"http://a.test/","signature":"v1a","secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}"#,
      pointer: "/secret"),
    Bad(body: #"{"url":"http://a.test/","name":"x"}"#, pointer: "/name"),
    Bad(
      body: #"{"url":"http://a.test/","headers":{"#
        + (0..<21).map { #""X-\#($0)":"y""# }.joined(separator: ",") + "}}", pointer: "/headers", status: 422),
  ]

  @Test(arguments: bad) func `wrong member is named`(_ bad: Bad) throws {
    let reply = try place.call("POST", Self.path, bad.body)
    #expect(reply.status == bad.status)
    #expect(reply.json["errors"]?.elements?.first?["pointer"]?.string == bad.pointer)
  }

  @Test(arguments: [
    (#"{"signature":"v1a"}"#, "/signature"), (#"{"secret":"x"}"#, "/secret"), (#"{"state":"off"}"#, "/state"),
  ])
  func `wrong change is refused`(_ body: String, _ pointer: String) throws {
    let endpoint = try create()
    let reply = try place.call("PATCH", "\(Self.path)/\(endpoint.json.id)", body)
    #expect(reply.status == 400)
    #expect(reply.json["errors"]?.elements?.first?["pointer"]?.string == pointer)
  }

  @Test func `tenant has at most a hundred endpoints`() throws {
    for _ in 0..<100 { #expect(try create().status == 201) }
    #expect(try create().status == 409)
  }

  @Test(arguments: [
    "http://10.1.2.3/", "http://[::1]/", "http://localhost./", "http://169.254.169.254/",
    "http://0x0a000001/",
    "http://sub.localhost/",
  ])
  func `refused address is named at once`(_ url: String) throws {
    let closed = try InProcessAPI(networks: [])
    let webhook = #"{"webhook":{"url":"\#(url)"}}"#
    let task = #"{"kind":"data","request":{"url":"http://a.test/"}"#
    let calls = [
      (Self.path, #"{"url":"\#(url)"}"#, "/url"),
      ("/v1/sessions", #"{"delegate":\#(webhook)}"#, "/delegate/webhook/url"),
      ("/v1/tasks", "\(task),\"completion\":\(webhook)}", "/completion/webhook/url"),
      ("/v1/tasks", "\(task),\"delegate\":\(webhook)}", "/delegate/webhook/url"),
    ]
    for (path, body, pointer) in calls {
      let reply = try closed.call("POST", path, body)
      #expect(reply.status == 422, "\(path)")
      #expect(reply.json["errors"]?.elements?.first?["pointer"]?.string == pointer)
    }
    #expect(try closed.call("POST", Self.path, #"{"url":"http://a.test/"}"#).status == 201)
  }
}
