import JSON
import TestSupport
import Testing

/// `URLRequest.CachePolicy`, of requests and of sessions.
@Suite(.serialized, .blocking, .sharing) struct CachePolicyTests {
  enum Policy: String, Sendable, CaseIterable {
    case useProtocolCachePolicy, reloadIgnoringLocalCacheData, reloadIgnoringLocalAndRemoteCacheData
    case returnCacheDataElseLoad, returnCacheDataDontLoad, reloadRevalidatingCacheData
  }
  enum Stored: String, Sendable, CaseIterable { case nothing, fresh, stale }
  enum Outcome { case stored, loaded, failed }

  private let place: InProcessAPI
  private let origin = CacheOrigin()

  init() throws { place = try .ofSuite() }

  private static func outcome(_ policy: Policy, _ stored: Stored) -> Outcome {
    switch policy {
    case .useProtocolCachePolicy: stored == .fresh ? .stored : .loaded
    case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData, .reloadRevalidatingCacheData:
      .loaded
    case .returnCacheDataElseLoad: stored == .nothing ? .loaded : .stored
    case .returnCacheDataDontLoad: stored == .nothing ? .failed : .stored
    }
  }

  /// Stores `one` with the given freshness. The origin then serves `two`.
  private func prepare(_ client: CacheClient, _ stored: Stored) throws {
    let age = stored == .stale ? CacheOrigin.stale : CacheOrigin.fresh
    origin.serve("/p", "one", tag: "\"1\"", age)
    let load = #","cachePolicy":"reloadIgnoringLocalCacheData""#
    if stored != .nothing { #expect(try client.load("/p", load).bodyText == "one") }
    origin.serve("/p", "two", tag: "\"2\"", CacheOrigin.fresh)
  }

  private func expect(_ client: CacheClient, _ policy: Policy, _ stored: Stored, _ request: String) throws {
    try prepare(client, stored)
    let before = origin.count("/p")
    let task = try client.load("/p", request)
    let sent = origin.requests("/p").dropFirst(before)
    switch Self.outcome(policy, stored) {
    case .stored:
      #expect(task.bodyText == "one" && task.isFromCache && sent.isEmpty, "\(policy) \(stored)")
    case .loaded:
      #expect(task.bodyText == "two" && !task.isFromCache && sent.count == 1, "\(policy) \(stored)")
      // The loaded response is stored.
      let next = try client.load("/p", #","cachePolicy":"returnCacheDataDontLoad""#)
      #expect(next.bodyText == "two" && next.isFromCache)
    case .failed:
      #expect(task.errorCode == -2000 && sent.isEmpty, "\(policy) \(stored)")
      #expect(task["error"]?["domain"]?.string == "NSURLErrorDomain")
      #expect(task["error"]?["name"]?.string == "cannotLoadFromNetwork")
      #expect(task["error"]?["failingURL"]?.string == origin.url + "/p")
      #expect(task["response"] == .null && task["body"] == .null)
    }
    guard let request = sent.first else { return }
    let asks = stored != .nothing && [.useProtocolCachePolicy, .reloadRevalidatingCacheData].contains(policy)
    #expect(request["If-None-Match"] == (asks ? "\"1\"" : nil), "\(policy) \(stored)")
    let controls: [Policy: String] = [
      .reloadIgnoringLocalAndRemoteCacheData: "no-cache", .reloadRevalidatingCacheData: "max-age=0",
    ]
    #expect(request["Cache-Control"] == controls[policy], "\(policy) \(stored)")
    #expect(request["Pragma"] == (policy == .reloadIgnoringLocalAndRemoteCacheData ? "no-cache" : nil))
  }

  @Test(arguments: Policy.allCases, Stored.allCases)
  func `cache policy of a request is honoured`(_ policy: Policy, _ stored: Stored) throws {
    try expect(
      CacheClient(place, origin), policy, stored, #","cachePolicy":"\#(policy.rawValue)""#)
  }

  @Test(arguments: Policy.allCases, Stored.allCases)
  func `cache policy of a session is honoured`(_ policy: Policy, _ stored: Stored) throws {
    let session = try place.session(#"{"requestCachePolicy":"\#(policy.rawValue)"}"#)
    try expect(CacheClient(place, origin, session: session), policy, stored, "")
  }

  @Test(arguments: Policy.allCases, Policy.allCases)
  func `policy of a request overrides the session`(_ ofSession: Policy, _ ofRequest: Policy) throws {
    let session = try place.session(#"{"requestCachePolicy":"\#(ofSession.rawValue)"}"#)
    try expect(
      CacheClient(place, origin, session: session), ofRequest, .stale,
      #","cachePolicy":"\#(ofRequest.rawValue)""#)
  }

  @Test func `cache policy is shown in the session and in the request`() throws {
    let session = try place.session(#"{"requestCachePolicy":"returnCacheDataDontLoad"}"#)
    let shown = try place.call("GET", "/v1/sessions/\(session)").json["configuration"]
    #expect(shown?["requestCachePolicy"]?.string == "returnCacheDataDontLoad")
    let id = try place.create(
      origin.url + "/p", session: session, request: #","cachePolicy":"reloadRevalidatingCacheData""#,
      resume: false)
    let request = try place.task(id)["originalRequest"]
    #expect(request?["cachePolicy"]?.string == "reloadRevalidatingCacheData")
    let wrong = try place.call(
      "POST", "/v1/tasks", #"{"kind":"data","request":{"url":"\#(origin.url)","cachePolicy":"never"}}"#)
    #expect(wrong.status == 400 && wrong.text.contains("/request/cachePolicy"))
  }

  /// A task that must not load fails with the usual order of events, and sends nothing.
  @Test func `task without a cached response fails with the usual events`() throws {
    let client = try CacheClient(place, origin)
    let task = try client.load("/none", #","cachePolicy":"returnCacheDataDontLoad""#)
    #expect(task.errorCode == -2000)
    let types = try place.story(of: task.id).map(\.type).filter { $0 != "task.didChangeState" }
    #expect(types == ["task.didCreate", "task.didFinishCollectingMetrics", "task.didComplete"])
    #expect(origin.count("/none") == 0)
    for kind in ["data", "download"] {
      let task = try client.load("/none", kind: kind, #","cachePolicy":"returnCacheDataDontLoad""#)
      #expect(task.errorCode == -2000)
    }
    // Nothing listens on this port.
    let dead = try place.run(
      "http://127.0.0.1:1/", kind: "data", session: client.session,
      request: #","cachePolicy":"returnCacheDataDontLoad""#)
    #expect(dead.errorCode == -2000)
  }

  @Test func `only if cached directive is honoured`() throws {
    let client = try CacheClient(place, origin)
    for stored in Stored.allCases {
      try prepare(client, stored)
      let before = origin.count("/p")
      let task = try client.load("/p", fields: ["Cache-Control": "only-if-cached"])
      #expect(task.errorCode == (stored == .fresh ? nil : -2000), "\(stored)")
      #expect(task.isFromCache == (stored == .fresh) && origin.count("/p") == before)
    }
  }
}
