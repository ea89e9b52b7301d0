import JSON
import TestSupport
import Testing

/// The routes of deliveries. No dispatcher runs, so the messages stay pending.
@Suite(.serialized, .blocking) struct DeliveryRouteTests {
  private let place: InProcessAPI
  private static let path = "/v1/webhooks/deliveries"

  init() throws { place = try InProcessAPI() }

  private func endpoint() throws -> String {
    try place.call("POST", "/v1/webhooks/endpoints", #"{"url":"http://a.test/hook?token=x"}"#).json.id
  }

  private func test(_ endpoint: String) throws -> HTTPReply {
    try place.call("POST", "/v1/webhooks/endpoints/\(endpoint)/test")
  }

  private func ids(_ query: String) throws -> [String] {
    try place.call("GET", Self.path + query).json["items"]?.elements?.map(\.id) ?? []
  }

  @Test func `test message is listed with its endpoint`() throws {
    let endpoint = try endpoint()
    let reply = try test(endpoint)
    #expect(reply.status == 202 && reply["Location"] == "\(Self.path)/\(reply.json.id)")
    let delivery = try place.call("GET", "\(Self.path)/\(reply.json.id)").json
    #expect(delivery["type"]?.string == "webhook.test" && delivery["state"]?.string == "pending")
    #expect(delivery["endpoint"]?.string == endpoint && delivery["url"]?.string == "http://a.test/hook")
    #expect(delivery["webhookId"] == delivery["id"] && delivery["taskId"] == .null)
    #expect(delivery["attempts"]?.elementCount == 0 && delivery["nextAttemptAt"]?.string != nil)
  }

  @Test func `event of every session reaches the endpoint`() throws {
    let endpoint = try endpoint()
    for session in [
      "ses_shared", try place.session(),
      try place.call("POST", "/v1/sessions", #"{"type":"ephemeral"}"#).json.id,
    ] {
      let task = try place.create("http://127.0.0.1:9/", session: session)
      _ = try place.end(of: task)
      let delivery = try #require(
        try place.call("GET", "\(Self.path)?task=\(task)").json["items"]?.elements?.first)
      #expect(delivery["endpoint"]?.string == endpoint && delivery["type"]?.string == "task.didComplete")
      #expect(delivery["taskId"]?.string == task)
    }
  }

  @Test func `list is filtered, ordered and paged`() throws {
    let (first, second) = (try endpoint(), try endpoint())
    let all = [try test(first), try test(second), try test(first)].map(\.json.id)
    #expect(try ids("") == all)
    #expect(try ids("?order=newest") == all.reversed())
    #expect(try ids("?endpoint=\(first)") == [all[0], all[2]])
    #expect(try ids("?endpoint=\(first)&order=newest") == [all[2], all[0]])
    #expect(try ids("?state=failed") == [] && ids("?state=pending&limit=2") == Array(all[..<2]))
    #expect(try ids("?since=2100-01-01T00:00:00Z") == [])
    let page = try place.call("GET", "\(Self.path)?limit=2&order=newest").json
    let cursor = try #require(page["nextCursor"]?.string)
    #expect(try ids("?limit=2&order=newest&cursor=\(cursor)") == [all[0]])
  }

  @Test(arguments: [
    ("endpoint=x", "/endpoint"), ("task=ses_shared", "/task"), ("state=open", "/state"),
    ("since=yesterday", "/since"), ("order=random", "/order"), ("limit=0", "/limit"), ("cursor=x", "/cursor"),
    ("kind=data", "/kind"),
  ])
  func `wrong parameter is named`(_ query: String, _ pointer: String) throws {
    let reply = try place.call("GET", "\(Self.path)?\(query)")
    #expect(reply.status == 400)
    #expect(reply.json["errors"]?.elements?.first?["pointer"]?.string == pointer)
  }

  @Test func `pending message can be sent again at once`() throws {
    let id = try test(endpoint()).json.id
    let reply = try place.call("POST", "\(Self.path)/\(id)/redeliver")
    #expect(reply.status == 202 && reply.json.id == id && reply.json["state"]?.string == "pending")
    #expect(
      try place.call("POST", "\(Self.path)/whd_01923456-789a-7bcd-8ef0-123456789abc/redeliver").status == 404)
  }

  @Test func `many messages are sent again by filter`() throws {
    let (first, second) = (try endpoint(), try endpoint())
    for endpoint in [first, second, first] { _ = try test(endpoint) }
    func again(_ body: String) throws -> HTTPReply { try place.call("POST", "\(Self.path)/redeliver", body) }
    #expect(try again(#"{"state":"pending","endpoint":"\#(first)"}"#).json["redelivered"]?.integer == 2)
    #expect(try again(#"{"state":"failed"}"#).json["redelivered"]?.integer == 0)
    #expect(try again(#"{"since":"2100-01-01T00:00:00Z"}"#).json["redelivered"]?.integer == 0)
    let unfiltered = try again("{}")
    #expect(unfiltered.status == 422)
    for (body, pointer) in [
      (#"{"endpoint":"x"}"#, "/endpoint"), (#"{"task":"x"}"#, "/task"), (#"{"state":"x"}"#, "/state"),
      (#"{"since":"x"}"#, "/since"), (#"{"all":true,"state":"failed"}"#, "/all"),
    ] {
      let reply = try again(body)
      #expect(reply.status == 400 && reply.json["errors"]?.elements?.first?["pointer"]?.string == pointer)
    }
  }
}
