import JSON
import TestSupport
import Testing

/// What counts as the want of a network, and what does not.
@Suite(.serialized, .blocking) struct ConnectivityCauseTests {
  private static let unknown = "http://nonexistent.invalid/"

  /// The task ends by itself, and nobody was told that it waits.
  private func error(of id: String, in place: CablePlace) throws -> Int64? {
    let story = try place.ferry.story(of: id)
    #expect(!story.contains { $0.type == CablePlace.waiting })
    return story.last?.data.errorCode
  }

  @Test func aRouteThatIsAddedIsTaken() throws {
    let place = try CablePlace(isUp: true)
    try place.there.ip("address add 10.10.0.2/32 dev lo")
    let url = place.origin.url(at: "10.10.0.2")
    let id = try place.ferry.create(url, session: try place.patientSession())
    try place.waitForTheEvent(id)
    try place.here.ip("route add 10.10.0.0/24 via \(CablePlace.address)")
    #expect(try place.success(of: id) == Pattern.bytes(CablePlace.size))
    try place.here.ip("route del 10.10.0.0/24")
    // The session that is not patient has no connection yet.
    let hasty = try place.ferry.create(url, session: try place.ferry.session(FerryProcess.uncached))
    #expect(try error(of: hasty, in: place) == -1009)
  }

  /// Where there is no network at all, a name that cannot be looked up is no wonder.
  @Test func aNameIsLookedUpAgainWhenThereIsANetwork() throws {
    let place = try CablePlace()
    let hasty = try place.ferry.create(Self.unknown)
    #expect(try error(of: hasty, in: place) == -1003)
    let id = try place.ferry.create(Self.unknown, session: try place.patientSession())
    try place.waitForTheEvent(id)
    #expect(try place.isWaiting(id))
    try place.raise()
    #expect(try place.ferry.end(of: id).errorCode == -1003)
    // Now there is one.
    let next = try place.ferry.create(Self.unknown, session: try place.patientSession())
    #expect(try error(of: next, in: place) == -1003)
  }

  /// A link alone leads nowhere: what a machine gives itself for it is no network yet.
  @Test func aNameIsFoundOnceThereIsAnAddress() throws {
    let wrapper = try FerryProcess.replacing(
      "/etc/resolv.conf", by: "nameserver \(CablePlace.address)\noptions timeout:1 attempts:1\n")
    let place = try CablePlace(options: ["--interface-class", "none0=cellular"], wrapper: wrapper)
    try withExtendedLifetime(NameServer(in: place.there, address: CablePlace.address)) {
      try place.here.ip("address flush dev eth0")
      let id = try place.ferry.create(
        place.origin.url(at: "origin.example"), session: try place.patientSession())
      try place.waitForTheEvent(id)
      try place.raise()
      try place.here.ip("address add fe80::77/64 dev eth0 nodad")
      try place.ferry.seeNetworks()
      #expect(try place.ferry.task(id)["state"]?.string == "running")
      try place.here.ip("address add 10.9.0.1/24 dev eth0")
      #expect(try place.success(of: id) == Pattern.bytes(CablePlace.size))
      #expect(place.origin.requests.map { $0["Host"] } == ["origin.example:\(place.origin.port)"])
    }
  }

  /// Who refuses is reached.
  @Test func aRefusedConnectionIsNotWaitedFor() throws {
    let place = try CablePlace(isUp: true)
    let session = try place.patientSession()
    for url in ["http://\(CablePlace.address):1/", "http://127.0.0.1:1/"] {
      let id = try place.ferry.create(url, session: session)
      #expect(try error(of: id, in: place) == -1004)
    }
    try place.lower()
    let id = try place.ferry.create("http://127.0.0.1:1/", session: session)
    #expect(try error(of: id, in: place) == -1004)
  }

  /// Nor is a destination that the rules of egress forbid.
  @Test func aForbiddenDestinationIsNotWaitedFor() throws {
    let place = try CablePlace()
    let id = try place.ferry.create("http://192.168.7.7/", session: try place.patientSession())
    #expect(try error(of: id, in: place) == 1)
    #expect(try place.ferry.task(id)["error"]?["name"]?.string == "destinationNotPermitted")
  }

  /// Who does not answer may be slow; there is a network.
  @Test func aSilentHostIsNotWaitedFor() throws {
    let place = try CablePlace(isUp: true)
    try place.here.ip("neighbour add 10.9.0.77 lladdr 02:00:00:00:00:77 dev eth0 nud permanent")
    let session = try place.patientSession(#","timeoutIntervalForRequest":0.8"#)
    let id = try place.ferry.create("http://10.9.0.77/", session: session)
    #expect(try error(of: id, in: place) == -1001)
  }

  /// The other end of the cable is dead: the kernel finds that nobody is there.
  @Test func aLinkWithoutACarrierIsWaitedFor() throws {
    let place = try CablePlace(isUp: true)
    try place.there.ip("link set far0 down")
    let patient = try place.ferry.create(place.url, session: try place.patientSession())
    let hasty = try place.ferry.create(place.url)
    let impatient = try place.ferry.create(place.url, request: #","timeoutInterval":0.5"#)
    let start = ContinuousClock.now
    let codes = [hasty, impatient].map { try? error(of: $0, in: place) }
    #expect([-1004, -1009].contains(codes[0]) && [-1001, -1009].contains(codes[1]))
    try place.waitForTheEvent(patient)
    #expect(.now - start < .seconds(15))
    try place.there.ip("link set far0 up")
    #expect(try place.success(of: patient) == Pattern.bytes(CablePlace.size))
  }

  @Test func aRedirectIsWaitedWith() throws {
    let place = try CablePlace()
    let id = try place.ferry.create(place.neighbour.url + "/redirect", session: try place.patientSession())
    try place.waitForTheEvent(id)
    let task = try place.ferry.task(id)
    #expect(task["currentRequest"]?["url"]?.string == place.url + "/target")
    #expect(task["response"] == .null)
    try place.raise()
    #expect(try place.success(of: id) == Pattern.bytes(CablePlace.size))
    #expect(place.neighbour.requests.count == 1 && place.origin.requests.map(\.path) == ["/target"])
  }

  @Test func whatNeedsNoNetworkDoesNotWait() throws {
    let place = try CablePlace()
    let id = try place.ferry.create(place.neighbour.url, session: try place.patientSession())
    #expect(try error(of: id, in: place) == nil)
    #expect(try place.body(of: id) == Array("near".utf8))
  }

  // MARK: Connections of before

  /// An idle connection does not know that its link is gone.
  @Test func aConnectionIsNotUsedAgainWhenItsLinkIsGone() throws {
    let place = try CablePlace(isUp: true, options: ["--interface-class", "none0=cellular"])
    let (patient, hasty) = (try place.patientSession(), try place.ferry.session(FerryProcess.uncached))
    for session in [patient, hasty] {
      #expect(try place.ferry.run(place.url, session: session)["error"] == .null)
    }
    try place.lower()
    try place.ferry.seeNetworks()
    let lost = try place.ferry.create(place.url, session: hasty)
    #expect(try error(of: lost, in: place) == -1009)
    let id = try place.ferry.create(place.url, session: patient)
    try place.waitForTheEvent(id)
    try place.raise()
    #expect(try place.success(of: id) == Pattern.bytes(CablePlace.size))
  }

  /// One that comes with a new link leaves it alone.
  @Test func aConnectionIsUsedAgainWhenALinkComes() throws {
    let place = try CablePlace(isUp: true, options: ["--interface-class", "none0=cellular"])
    let session = try place.patientSession()
    func isReused() throws -> Bool? {
      let id = try place.ferry.run(place.url, session: session).id
      return try place.ferry.metrics(of: id)["transactionMetrics"]?.elements?.first?["isReusedConnection"]?
        .bool
    }
    #expect(try isReused() == false)
    try place.here.connect("eth1", "10.8.0.1/24", to: place.there, "far1", "10.8.0.2/24")
    try place.ferry.seeNetworks()
    #expect(try isReused() == true)
  }

  // MARK: What is under way

  /// Half of the answer is there.
  private func begin(_ place: CablePlace, request: String = "") throws -> String {
    let id = try place.ferry.create(
      place.url + "/halves", session: try place.patientSession(), request: request)
    let half = Int64(CablePlace.size / 2)
    let task = try place.ferry.poll("/v1/tasks/\(id)") {
      $0["progress"]?["countOfBytesReceived"]?.integer == half
    }
    #expect(task["progress"]?["countOfBytesReceived"]?.integer == half)
    return id
  }

  /// TCP sends again what was lost.
  @Test func aTransferOutlivesALinkThatWasDown() throws {
    let place = try CablePlace(isUp: true)
    let id = try begin(place)
    try place.lower()
    place.gate.open()
    try place.pass(seconds: 0.5)
    #expect(try place.ferry.task(id)["phase"]?.string == "transferring")
    try place.raise()
    #expect(try error(of: id, in: place) == nil)
    #expect(try place.body(of: id) == Pattern.bytes(CablePlace.size))
    #expect(place.origin.requests.count == 1)
  }

  /// What has had a connection does not wait for another.
  @Test func aTransferWithoutALinkEndsByItsTimeout() throws {
    let place = try CablePlace(isUp: true)
    let id = try begin(place, request: #","timeoutInterval":1"#)
    try place.lower()
    place.gate.open()
    #expect(try error(of: id, in: place) == -1001)
  }
}
