import JSON
import TestSupport
import Testing

/// `/v1/configurations`: named configurations, and sessions that are based on them.
@Suite(.serialized, .blocking) struct ConfigurationRouteTests {
  private let place: InProcessAPI

  init() throws { place = try InProcessAPI() }

  private func post(
    _ name: String, _ configuration: String = "{}", _ fields: [(String, String)] = []
  ) throws -> HTTPReply {
    let body = #"{"name":"\#(name)","configuration":\#(configuration)}"#
    return try place.call("POST", "/v1/configurations", body, fields)
  }

  private func put(
    _ name: String, _ configuration: String, _ fields: [(String, String)] = []
  ) throws -> HTTPReply {
    try place.call("PUT", "/v1/configurations/\(name)", configuration, fields)
  }

  /// Creates a session with this configuration.
  private func taken(_ configuration: String, type: String = "default") throws -> HTTPReply {
    try place.call("POST", "/v1/sessions", #"{"type":"\#(type)","configuration":\#(configuration)}"#)
  }

  private static func pointers(_ reply: HTTPReply) -> [String] {
    guard reply.status == 400 else { return ["\(reply.status)"] }
    return reply.json["errors"]?.elements?.compactMap { $0["pointer"]?.string } ?? []
  }

  @Test func `configuration is created, read, replaced and deleted`() throws {
    let made = try post("wifi-only", #"{"allowsCellularAccess":false,"timeoutIntervalForRequest":5}"#)
    #expect(made.status == 201 && made["Location"] == "/v1/configurations/wifi-only")
    #expect(made.json["name"]?.string == "wifi-only")
    #expect(made.json["configuration"]?["allowsCellularAccess"]?.bool == false)
    #expect(made.json["configuration"]?["httpMaximumConnectionsPerHost"]?.integer == 6)
    let read = try place.call("GET", "/v1/configurations/wifi-only")
    #expect(read.status == 200 && read.body == made.body && read["ETag"] == made["ETag"])
    #expect(
      try place.call("GET", "/v1/configurations/wifi-only", nil, [("If-None-Match", read["ETag"] ?? "")])
        .status == 304)
    #expect(try post("wifi-only").status == 409)
    #expect(try place.call("GET", "/v1/configurations/wifi-only").body == made.body)
    let changed = try put("wifi-only", #"{"timeoutIntervalForRequest":7}"#)
    #expect(changed.status == 200 && changed["ETag"] != read["ETag"] && changed["Location"] == nil)
    let configuration = changed.json["configuration"]
    #expect(configuration?["allowsCellularAccess"]?.bool == true, "PUT replaces the whole configuration")
    #expect(changed.json["createdAt"] == made.json["createdAt"])
    #expect(try put("other", "{}").status == 201)
    #expect(try place.call("DELETE", "/v1/configurations/wifi-only").status == 204)
    #expect(try place.call("GET", "/v1/configurations/wifi-only").status == 404)
    #expect(try place.call("DELETE", "/v1/configurations/wifi-only").status == 404)
    #expect(try place.call("DELETE", "/v1/configurations/other").status == 204)
    #expect(try post("wifi-only").status == 201)
  }

  @Test func `preconditions are honoured`() throws {
    #expect(
      try put("a", "{}", [("If-Match", "*")]).status == 412,
      "If-Match: * fails before the configuration exists")
    #expect(try put("a", "{}", [("If-None-Match", "*")]).status == 201)
    #expect(try put("a", "{}", [("If-None-Match", "*")]).status == 412)
    let tag = try place.call("GET", "/v1/configurations/a")["ETag"] ?? ""
    #expect(try put("a", #"{"isDiscretionary":true}"#, [("If-Match", tag)]).status == 200)
    #expect(try put("a", "{}", [("If-Match", tag)]).status == 412)
    #expect(
      try place.call("GET", "/v1/configurations/a").json["configuration"]?["isDiscretionary"]?.bool == true)
    #expect(try put("a", "{}", [("If-Match", "*")]).status == 200)
  }

  @Test func `list of configurations has pages`() throws {
    let names = ["a", "B", "c.1", "c-2", "c_3", "Z", "10", "9"].sorted()
    for name in names.shuffled() { #expect(try post(name).status == 201) }
    var found: [String] = []
    var target: String? = "/v1/configurations?limit=3"
    var pages = 0
    while let page = target {
      let reply = try place.call("GET", page)
      found += reply.json["items"]?.elements?.compactMap { $0["name"]?.string } ?? []
      let link = reply["Link"].map { $0.dropFirst().prefix { $0 != ">" } }
      #expect((link == nil) == (reply.json["nextCursor"] == .null))
      #expect(reply["Link"]?.hasSuffix(#">; rel="next""#) != false)
      target = link.map(String.init)
      pages += 1
    }
    #expect(found == names && pages == 3)
    #expect(try place.call("GET", "/v1/configurations").json["items"]?.elements?.count == names.count)
    for query in ["limit=0", "limit=501", "limit=x", "cursor=%21", "state=active"] {
      #expect(try place.call("GET", "/v1/configurations?\(query)").status == 400, "\(query)")
    }
  }

  @Test func `name of a configuration is checked`() throws {
    let long = String(repeating: "n", count: 128)
    for name in ["a", "A.b_c-9", "-", "...", long] {
      #expect(try post(name).status == 201, "\(name)")
      #expect(try place.call("GET", "/v1/configurations/\(name)").json["name"]?.string == name)
    }
    for name in ["", ".", "..", "a b", "a/b", "é", "a%", long + "n"] {
      #expect(try Self.pointers(post(name)) == ["/name"], "\(name)")
    }
    for name in ["a%20b", "%C3%A9", "a%2Fb", long + "n"] {
      #expect([400, 404].contains(try put(name, "{}").status), "\(name)")
      #expect(try place.call("GET", "/v1/configurations/\(name)").status == 404, "\(name)")
    }
    #expect(try place.call("GET", "/v1/configurations").json["items"]?.elements?.count == 5)
  }

  @Test func `invalid configuration is refused with pointers`() throws {
    let configurations = "/v1/configurations"
    for (body, pointers) in [
      ("{}", ["/name", "/configuration"]), (#"{"name":1,"configuration":[]}"#, ["/name", "/configuration"]),
      (#"{"name":"n","configuration":{"retry":{"backoff":0}}}"#, ["/configuration/retry/backoff"]),
      (#"{"name":"n","configuration":{"named":"x"}}"#, ["/configuration/named"]),
      (#"{"name":"n","configuration":{"timeout":1}}"#, ["/configuration/timeout"]),
      (#"{"name":"n","configuration":{"httpShouldSetCookies":1}}"#, ["/configuration/httpShouldSetCookies"]),
      (#"{"name":"n","configuration":{},"type":"background"}"#, ["/type"]),
    ] {
      let found = try Self.pointers(place.call("POST", configurations, body))
      #expect(Set(found) == Set(pointers), "\(body)")
    }
    #expect(try Self.pointers(put("n", #"{"retry":{"statuses":[1]}}"#)) == ["/retry/statuses/0"])
    #expect(try Self.pointers(put("n", #"{"bodyRetention":0}"#)) == ["/bodyRetention"])
    #expect(try Self.pointers(put("n", #"{"named":"n"}"#)) == ["/named"])
    #expect(try put("n", "{").status == 400)
    #expect(try Self.pointers(place.call("POST", configurations + "?name=n", "{}")) == ["/name"])
    #expect(try Self.pointers(place.call("DELETE", configurations + "/n?x")) == ["/x"])
    #expect(try place.call("GET", configurations + "/n").status == 404)
    #expect(try place.call("PATCH", configurations + "/n", "{}").status == 405)
  }

  @Test func `repeated creation gets the first reply`() throws {
    let key = [("Idempotency-Key", "\"k-1\"")]
    let first = try post("a", #"{"isDiscretionary":true}"#, key)
    #expect(first.status == 201)
    _ = try put("a", "{}")
    let again = try post("a", #"{"isDiscretionary":true}"#, key)
    #expect(again.status == 201 && again.body == first.body && again["Location"] == first["Location"])
    #expect(try post("a", "{}", key).status == 422)
    #expect(try post("b", #"{"isDiscretionary":true}"#, key).status == 422)
    #expect(
      try place.call("GET", "/v1/configurations/a").json["configuration"]?["isDiscretionary"]?.bool == false)
  }

  @Test func `session copies its named configuration`() throws {
    _ = try post(
      "base",
      #"{"timeoutIntervalForRequest":5,"httpAdditionalHeaders":{"X-A":"1"},"urlCache":{"memoryCapacity":7}}"#)
    let reply = try taken(
      #"{"named":"base","timeoutIntervalForResource":9,"httpAdditionalHeaders":{"X-B":"2"}}"#)
    #expect(reply.status == 201)
    let configuration = reply.json["configuration"]
    #expect(configuration?["timeoutIntervalForRequest"]?.double == 5)
    #expect(configuration?["timeoutIntervalForResource"]?.double == 9)
    #expect(configuration?["httpAdditionalHeaders"]?.text == #"{"X-B":"2"}"#)
    #expect(configuration?["urlCache"]?.text == #"{"memoryCapacity":7,"diskCapacity":20971520}"#)
    #expect(configuration?["named"] == nil)
    let session = "/v1/sessions/\(reply.json.id)"
    _ = try put("base", #"{"timeoutIntervalForRequest":50}"#)
    #expect(try place.call("GET", session).json["configuration"] == configuration)
    #expect(
      try taken(#"{"named":"base"}"#).json["configuration"]?["timeoutIntervalForRequest"]?.double == 50)
    _ = try place.call("DELETE", "/v1/configurations/base")
    #expect(try place.call("GET", session).json["configuration"] == configuration)
    #expect(try Self.pointers(taken(#"{"named":"base"}"#)) == ["/configuration/named"])
    #expect(try Self.pointers(taken(#"{"named":7}"#)) == ["/configuration/named"])
  }

  /// The `diskCapacity` of a named configuration applies only to sessions with a cache on disk.
  @Test func `ephemeral session ignores the disk capacity of a named configuration`() throws {
    _ = try post("base", #"{"urlCache":{"memoryCapacity":7,"diskCapacity":9}}"#)
    let cache = try taken(#"{"named":"base"}"#, type: "ephemeral").json["configuration"]?["urlCache"]
    #expect(cache?.text == #"{"memoryCapacity":7,"diskCapacity":0}"#)
    let wrong = try taken(#"{"named":"base","urlCache":{"diskCapacity":1}}"#, type: "ephemeral")
    #expect(Self.pointers(wrong) == ["/configuration/urlCache/diskCapacity"])
  }
}
