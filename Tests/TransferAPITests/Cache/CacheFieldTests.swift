import JSON
import TestSupport
import Testing

/// urlSession(_:dataTask:willCacheResponse:): a delegate replaces the header fields that are stored with a body
/// (CachedURLResponse).
@Suite(.serialized, .blocking, .sharing) struct CacheFieldTests {
  private static let asked = "dataTask.willCacheResponse"
  private let place: InProcessAPI
  private let origin = CacheOrigin()
  private let client: CacheClient

  init() throws {
    place = try .ofSuite()
    client = try CacheClient(place, origin, session: place.session(delegate: #"{"caching":"ask"}"#))
    origin.serve(
      "/a", "hello", tag: "\"1\"",
      [
        ("Cache-Control", "max-age=86400"), ("Content-Type", "text/html"), ("X-Mine", "no"),
        ("Connection", "keep-alive"),
      ], confirming: [("X-Confirmed", "yes")])
  }

  /// Runs a task whose response is stored with these header fields. Returns the task after its end.
  private func store(_ headers: String, policy: String = "allowed") throws -> JSONValue {
    let id = try place.create(origin.url + "/a", session: client.session)
    let event = try place.decisionEvent(of: id, Self.asked)
    let answer = #"{"storagePolicy":"\#(policy)","response":{"headers":\#(headers)}}"#
    let reply = try place.answer(event.decision, answer)
    #expect(reply.status == 200, "\(reply.text)")
    // A repeated answer is accepted.
    #expect(try place.answer(event.decision, answer).status == 200)
    return try place.end(of: id)
  }

  @Test(arguments: ["allowed", "allowedInMemoryOnly"])
  func `cached response has the header fields of the delegate`(_ policy: String) throws {
    let first = try store(
      #"{"Cache-Control":"max-age=86400","Content-Type":"text/plain","X-Own":"1"}"#, policy: policy)
    // The task itself shows the fields that the origin sent.
    #expect(first.field("Content-Type") == "text/html" && first.field("X-Mine") == "no")
    let hit = try client.load("/a")
    #expect(hit.isFromCache && hit.bodyText == "hello" && origin.count("/a") == 1)
    #expect(hit.field("Content-Type") == "text/plain" && hit.field("X-Own") == "1")
    #expect(hit.field("Cache-Control") == "max-age=86400" && hit.field("X-Mine") == nil)
    #expect(hit["response"]?["mimeType"]?.string == "text/plain")
    // The fields that identify the version of the body stay.
    #expect(
      hit.field("ETag") == "\"1\"" && hit.field("Content-Length") == "5" && hit.field("Connection") == nil)
  }

  /// The delegate's `Cache-Control` decides how long the response stays fresh.
  @Test func `header fields of the delegate decide the freshness`() throws {
    _ = try store(#"{"Cache-Control":"max-age=0"}"#)
    let confirmed = try client.load("/a")
    #expect(origin.count("/a") == 2 && confirmed.isFromCache && confirmed.field("X-Confirmed") == "yes")
    _ = try place.call("DELETE", "/v1/sessions/\(client.session)/cache")
    _ = try store(#"{"Cache-Control":"no-store"}"#)
    #expect(try client.cache["countOfEntries"]?.integer == 0)
  }

  @Test func `header fields that must not change are refused`() throws {
    let id = try place.create(origin.url + "/a", session: client.session)
    let event = try place.decisionEvent(of: id, Self.asked)
    func answer(_ response: String) throws -> HTTPReply {
      try place.answer(event.decision, #"{"storagePolicy":"allowed","response":\#(response)}"#)
    }
    let refused = try answer(#"{"headers":{"ETag":"\"2\"","Transfer-Encoding":"chunked"},"status":200}"#)
    #expect(
      refused.status == 400
        && refused.json["errors"]?.elements?.compactMap { $0["pointer"]?.string }
          == ["/response/headers/ETag", "/response/headers/Transfer-Encoding", "/response/status"]
    )
    // The delegate may return all fields that it was shown, with one more.
    let shown = try #require(event.data["response"]?["headers"]?.members)
    let all = JSONValue.object(shown + [.init(name: "X-Own", value: .string("1"))])
    #expect(try answer(#"{"headers":\#(all.text)}"#).status == 200)
    _ = try place.end(of: id)
    let hit = try client.load("/a")
    #expect(hit.isFromCache && hit.field("X-Own") == "1" && hit.field("X-Mine") == "no")
    #expect(hit.field("Connection") == nil)
  }
}
