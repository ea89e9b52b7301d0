import JSON
import TestSupport
import Testing

/// Tasks with and without `URLSessionConfiguration.waitsForConnectivity`.
@Suite(.serialized, .blocking) struct ConnectivityTests {
  private let place: UnpluggableNetworkFixture
  private var ferry: FerryProcess { place.ferry }

  init() throws { place = try UnpluggableNetworkFixture() }

  @Test(arguments: ["data", "download"]) func `task starts when the link comes up`(_ kind: String) throws {
    let session = try place.patientSession(#","timeoutIntervalForRequest":1"#)
    let id = try ferry.create(place.url, kind: kind, session: session)
    try place.waitForConnectivityEvent(id)
    #expect(try place.isWaiting(id))
    // The request's timeout is paused meanwhile.
    try place.pass(seconds: 1.4)
    #expect(try place.isWaiting(id) && place.origin.requests.isEmpty)
    try place.setLinkUp()
    #expect(try place.success(of: id) == Pattern.bytes(UnpluggableNetworkFixture.size))
    #expect(place.origin.requests.count == 1)
  }

  @Test(arguments: ["data", "download"]) func `task without waiting fails at once`(_ kind: String) throws {
    let id = try ferry.create(place.url + "/path", kind: kind)
    let story = try ferry.story(of: id)
    #expect(!story.contains { $0.type == UnpluggableNetworkFixture.waiting })
    let task = try ferry.task(id)
    #expect(task.errorCode == -1009 && task["error"]?["name"]?.string == "notConnectedToInternet")
    #expect(task["error"]?["failingURL"]?.string == place.url + "/path")
    #expect(task["error"]?["underlying"]?["code"]?.integer == 7)  // CURLE_COULDNT_CONNECT
    #expect((task["error"]?["networkUnavailableReason"] ?? .null) == .null)
    #expect(task["response"] == .null && task["body"] == .null)
  }

  @Test func `resource timeout runs while the task waits`() throws {
    let session = try place.patientSession(#","timeoutIntervalForResource":0.8"#)
    let id = try ferry.create(place.url, session: session)
    let story = try ferry.story(of: id)
    #expect(story.filter { $0.type == UnpluggableNetworkFixture.waiting }.count == 1)
    let task = try ferry.task(id)
    #expect(task.errorCode == -1001)
    #expect(task["error"]?["message"]?.string?.contains("timeoutIntervalForResource") == true)
    try place.setLinkUp()
    try ferry.waitForEarlierCommands(place.url + "/after")
    #expect(place.origin.requests.map(\.path) == ["/after"])
  }

  /// The task has one waiting event, although networks appear that do not lead to the origin.
  @Test func `unsteady link leads to one event`() throws {
    try place.here.ip("address flush dev eth0")
    let id = try ferry.create(place.url, session: try place.patientSession())
    try place.waitForConnectivityEvent(id)
    for _ in 0..<4 {
      try place.setLinkUp()
      try place.pass(seconds: 0.3)
      try place.setLinkDown()
      try place.pass(seconds: 0.3)
    }
    #expect(try place.isWaiting(id))
    try place.setLinkUp()
    try place.here.ip("address add 10.9.0.1/24 dev eth0")
    #expect(try place.success(of: id) == Pattern.bytes(UnpluggableNetworkFixture.size))
    #expect(place.origin.requests.count == 1)
    // A failed attempt does not change the phase.
    let phases = try ferry.story(of: id).filter { $0.type == "task.didChangeState" }.compactMap {
      $0.data["phase"]?.string
    }
    #expect(phases.filter { $0 == "waitingForConnectivity" }.count == 1, "\(phases)")
  }

  /// Waiting tasks release their connections. After the wait, they run within the limit.
  @Test func `queue of tasks waits and continues`() throws {
    let session = try place.patientSession(#","httpMaximumConnectionsPerHost":3"#)
    let ids = try (0..<20).map { try ferry.create(place.url + "/\($0)", session: session) }
    for id in ids { try place.waitForConnectivityEvent(id) }
    // Tasks with another destination run.
    #expect(try ferry.run(place.neighbour.url, session: session)["error"] == .null)
    try place.setLinkUp()
    for id in ids { #expect(try place.success(of: id) == Pattern.bytes(UnpluggableNetworkFixture.size)) }
    #expect(Set(place.origin.requests.map(\.path)) == Set((0..<20).map { "/\($0)" }))
    #expect(place.origin.requests.count == 20)
  }

  // MARK: Suspending and cancelling

  @Test func `suspended task stays suspended when the link comes up`() throws {
    let session = try place.patientSession()
    let id = try ferry.create(place.url, session: session)
    try place.waitForConnectivityEvent(id)
    #expect(try ferry.act("suspend", id) == "suspended")
    #expect(try ferry.task(id)["phase"] == .null)
    try place.setLinkUp()
    let other = try ferry.create(place.url + "/other", session: session)
    #expect(try ferry.end(of: other)["error"] == .null)
    #expect(try ferry.task(id)["state"]?.string == "suspended")
    #expect(place.origin.requests.map(\.path) == ["/other"])
    #expect(try ferry.act("resume", id) == "running")
    #expect(try place.success(of: id) == Pattern.bytes(UnpluggableNetworkFixture.size))
  }

  @Test func `resumed task waits until the link comes up`() throws {
    let id = try ferry.create(place.url, session: try place.patientSession())
    try place.waitForConnectivityEvent(id)
    #expect(try ferry.act("suspend", id) == "suspended")
    #expect(try ferry.act("resume", id) == "running")
    try ferry.waitForEarlierCommands(place.neighbour.url)
    #expect(try place.isWaiting(id))
    try place.setLinkUp()
    #expect(try place.success(of: id) == Pattern.bytes(UnpluggableNetworkFixture.size))
  }

  @Test(arguments: [true, false]) func `waiting task can be cancelled`(_ isSuspended: Bool) throws {
    let session = try place.patientSession()
    let id = try ferry.create(place.url, session: session)
    try place.waitForConnectivityEvent(id)
    if isSuspended { #expect(try ferry.act("suspend", id) == "suspended") }
    #expect(["canceling", "completed"].contains(try ferry.act("cancel", id) ?? ""))
    #expect(try ferry.end(of: id).errorCode == -999)
    try place.setLinkUp()
    #expect(try ferry.run(place.url + "/after", session: session)["error"] == .null)
    #expect(place.origin.requests.map(\.path) == ["/after"])
  }

  @Test func `session with a waiting task can be invalidated`() throws {
    let session = try place.patientSession()
    let id = try ferry.create(place.url, session: session)
    try place.waitForConnectivityEvent(id)
    let path = "/v1/sessions/\(session)"
    #expect(try ferry.call("POST", path + "/invalidate", #"{"mode":"finishTasks"}"#).status == 202)
    #expect(try place.isWaiting(id))
    try place.setLinkUp()
    #expect(try place.success(of: id) == Pattern.bytes(UnpluggableNetworkFixture.size))
    #expect(try ferry.poll(path) { $0["state"]?.string == "invalid" }["state"]?.string == "invalid")
  }

  @Test func `service stops and starts while tasks wait`() throws {
    let session = try place.patientSession()
    let ids = try (0..<5).map { try ferry.create(place.url + "/\($0)", session: session) }
    for id in ids { try place.waitForConnectivityEvent(id) }
    let start = ContinuousClock.now
    #expect(ferry.terminate() == 0 && .now - start < .seconds(10))
    let again = try FerryProcess(
      directory: ferry.directory, networks: ["127.0.0.0/8", "10.0.0.0/8"], in: place.here)
    for id in ids { #expect(try again.end(of: id).errorCode == -1005) }
    let next = try again.create(place.url, session: session)
    let types = "\(UnpluggableNetworkFixture.waiting),task.didComplete"
    #expect(
      try again.events("/v1/tasks/\(next)/events?after=0&types=\(types)").next()?.type
        == UnpluggableNetworkFixture.waiting)
    try place.setLinkUp()
    #expect(try again.end(of: next)["error"] == .null)
    #expect(again.terminate() == 0)
  }
}
