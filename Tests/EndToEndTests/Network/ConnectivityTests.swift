import JSON
import TestSupport
import Testing

/// Tasks that wait for a network, and those that do not (URLSessionConfiguration.waitsForConnectivity).
@Suite(.serialized, .blocking) struct ConnectivityTests {
  private let place: CablePlace
  private var ferry: FerryProcess { place.ferry }

  init() throws { place = try CablePlace() }

  @Test(arguments: ["data", "download"]) func aTaskGoesOnWhenTheLinkComesUp(_ kind: String) throws {
    let session = try place.patientSession(#","timeoutIntervalForRequest":1"#)
    let id = try ferry.create(place.url, kind: kind, session: session)
    try place.waitForTheEvent(id)
    #expect(try place.isWaiting(id))
    // The clock of the request stands meanwhile.
    try place.pass(seconds: 1.4)
    #expect(try place.isWaiting(id) && place.origin.requests.isEmpty)
    try place.raise()
    #expect(try place.success(of: id) == Pattern.bytes(CablePlace.size))
    #expect(place.origin.requests.count == 1)
  }

  @Test(arguments: ["data", "download"]) func aTaskThatDoesNotWaitFailsAtOnce(_ kind: String) throws {
    let start = ContinuousClock.now
    let id = try ferry.create(place.url + "/path", kind: kind)
    let story = try ferry.story(of: id)
    #expect(.now - start < .seconds(5) && !story.contains { $0.type == CablePlace.waiting })
    let task = try ferry.task(id)
    #expect(task.errorCode == -1009 && task["error"]?["name"]?.string == "notConnectedToInternet")
    #expect(task["error"]?["failingURL"]?.string == place.url + "/path")
    #expect(task["error"]?["underlying"]?["code"]?.integer == 7)  // CURLE_COULDNT_CONNECT
    #expect((task["error"]?["networkUnavailableReason"] ?? .null) == .null)
    #expect(task["response"] == .null && task["body"] == .null)
  }

  @Test func theClockOfTheResourceGoesOn() throws {
    let session = try place.patientSession(#","timeoutIntervalForResource":0.8"#)
    let id = try ferry.create(place.url, session: session)
    let story = try ferry.story(of: id)
    #expect(story.filter { $0.type == CablePlace.waiting }.count == 1)
    let task = try ferry.task(id)
    #expect(task.errorCode == -1001)
    #expect(task["error"]?["message"]?.string?.contains("timeoutIntervalForResource") == true)
    try place.raise()
    try ferry.settle(place.url + "/after")
    #expect(place.origin.requests.map(\.path) == ["/after"])
  }

  /// Told once, however often a network comes and does not lead there.
  @Test func anUnsteadyLinkIsToldOnce() throws {
    try place.here.ip("address flush dev eth0")
    let id = try ferry.create(place.url, session: try place.patientSession())
    try place.waitForTheEvent(id)
    for _ in 0..<4 {
      try place.raise()
      try place.pass(seconds: 0.3)
      try place.lower()
      try place.pass(seconds: 0.3)
    }
    #expect(try place.isWaiting(id))
    try place.raise()
    try place.here.ip("address add 10.9.0.1/24 dev eth0")
    #expect(try place.success(of: id) == Pattern.bytes(CablePlace.size))
    #expect(place.origin.requests.count == 1)
    // An attempt that comes to nothing is no news.
    let phases = try ferry.story(of: id).filter { $0.type == "task.didChangeState" }.compactMap {
      $0.data["phase"]?.string
    }
    #expect(phases.filter { $0 == "waitingForConnectivity" }.count == 1, "\(phases)")
  }

  /// They give their places to others, and go on as many at once as may.
  @Test func aQueueOfTasksWaitsAndGoesOn() throws {
    let session = try place.patientSession(#","httpMaximumConnectionsPerHost":3"#)
    let ids = try (0..<20).map { try ferry.create(place.url + "/\($0)", session: session) }
    for id in ids { try place.waitForTheEvent(id) }
    // Others are not held up.
    #expect(try ferry.run(place.neighbour.url, session: session)["error"] == .null)
    try place.raise()
    for id in ids { #expect(try place.success(of: id) == Pattern.bytes(CablePlace.size)) }
    #expect(Set(place.origin.requests.map(\.path)) == Set((0..<20).map { "/\($0)" }))
    #expect(place.origin.requests.count == 20)
  }

  // MARK: Suspending and cancelling

  @Test func aSuspendedTaskStaysSoWhenTheLinkComesUp() throws {
    let session = try place.patientSession()
    let id = try ferry.create(place.url, session: session)
    try place.waitForTheEvent(id)
    #expect(try ferry.act("suspend", id) == "suspended")
    #expect(try ferry.task(id)["phase"] == .null)
    try place.raise()
    let other = try ferry.create(place.url + "/other", session: session)
    #expect(try ferry.end(of: other)["error"] == .null)
    #expect(try ferry.task(id)["state"]?.string == "suspended")
    #expect(place.origin.requests.map(\.path) == ["/other"])
    #expect(try ferry.act("resume", id) == "running")
    #expect(try place.success(of: id) == Pattern.bytes(CablePlace.size))
  }

  @Test func aTaskThatIsResumedBeforeTheLinkComesUpWaitsOn() throws {
    let id = try ferry.create(place.url, session: try place.patientSession())
    try place.waitForTheEvent(id)
    #expect(try ferry.act("suspend", id) == "suspended")
    #expect(try ferry.act("resume", id) == "running")
    try ferry.settle(place.neighbour.url)
    #expect(try place.isWaiting(id))
    try place.raise()
    #expect(try place.success(of: id) == Pattern.bytes(CablePlace.size))
  }

  @Test(arguments: [true, false]) func aTaskIsCancelledWhileItWaits(_ isSuspended: Bool) throws {
    let session = try place.patientSession()
    let id = try ferry.create(place.url, session: session)
    try place.waitForTheEvent(id)
    if isSuspended { #expect(try ferry.act("suspend", id) == "suspended") }
    #expect(["canceling", "completed"].contains(try ferry.act("cancel", id) ?? ""))
    #expect(try ferry.end(of: id).errorCode == -999)
    try place.raise()
    #expect(try ferry.run(place.url + "/after", session: session)["error"] == .null)
    #expect(place.origin.requests.map(\.path) == ["/after"])
  }

  @Test func aSessionIsInvalidatedWhileItsTaskWaits() throws {
    let session = try place.patientSession()
    let id = try ferry.create(place.url, session: session)
    try place.waitForTheEvent(id)
    let path = "/v1/sessions/\(session)"
    #expect(try ferry.call("POST", path + "/invalidate", #"{"mode":"finishTasks"}"#).status == 202)
    #expect(try place.isWaiting(id))
    try place.raise()
    #expect(try place.success(of: id) == Pattern.bytes(CablePlace.size))
    #expect(try ferry.poll(path) { $0["state"]?.string == "invalid" }["state"]?.string == "invalid")
  }

  @Test func theServiceStopsAndStartsWhileTasksWait() throws {
    let session = try place.patientSession()
    let ids = try (0..<5).map { try ferry.create(place.url + "/\($0)", session: session) }
    for id in ids { try place.waitForTheEvent(id) }
    let start = ContinuousClock.now
    #expect(ferry.terminate() == 0 && .now - start < .seconds(10))
    let again = try FerryProcess(
      directory: ferry.directory, networks: ["127.0.0.0/8", "10.0.0.0/8"], in: place.here)
    for id in ids { #expect(try again.end(of: id).errorCode == -1005) }
    let next = try again.create(place.url, session: session)
    let types = "\(CablePlace.waiting),task.didComplete"
    #expect(
      try again.events("/v1/tasks/\(next)/events?after=0&types=\(types)").next()?.type == CablePlace.waiting)
    try place.raise()
    #expect(try again.end(of: next)["error"] == .null)
    #expect(again.terminate() == 0)
  }
}
