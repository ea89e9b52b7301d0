import JSON
import TestSupport
import Testing

/// Failures that wait for connectivity, and failures that end the task.
@Suite(.serialized, .blocking) struct ConnectivityCauseTests {
  private static let unknown = "http://nonexistent.invalid/"

  /// Returns the task's error code after its end, and expects no waiting event.
  private func error(of id: String, in place: UnpluggableNetworkFixture) throws -> Int64? {
    let story = try place.ferry.story(of: id)
    #expect(!story.contains { $0.type == UnpluggableNetworkFixture.waiting })
    return story.last?.data.errorCode
  }

  @Test func `new route is used`() throws {
    let place = try UnpluggableNetworkFixture(isUp: true)
    try place.there.ip("address add 10.10.0.2/32 dev lo")
    let url = place.origin.url(at: "10.10.0.2")
    let id = try place.ferry.create(url, session: try place.patientSession())
    try place.waitForConnectivityEvent(id)
    try place.here.ip("route add 10.10.0.0/24 via \(UnpluggableNetworkFixture.address)")
    #expect(try place.success(of: id) == Pattern.bytes(UnpluggableNetworkFixture.size))
    try place.here.ip("route del 10.10.0.0/24")
    // A new session without waiting fails. It has no connection that it could reuse.
    let hasty = try place.ferry.create(url, session: try place.ferry.session(FerryProcess.uncached))
    #expect(try error(of: hasty, in: place) == -1009)
  }

  /// Without a network, no name can be looked up, so the task waits.
  @Test func `name is looked up again when there is a network`() throws {
    let place = try UnpluggableNetworkFixture()
    let hasty = try place.ferry.create(Self.unknown)
    #expect(try error(of: hasty, in: place) == -1003)
    let id = try place.ferry.create(Self.unknown, session: try place.patientSession())
    try place.waitForConnectivityEvent(id)
    #expect(try place.isWaiting(id))
    try place.setLinkUp()
    #expect(try place.ferry.end(of: id).errorCode == -1003)
    // With a network, the same error ends the task.
    let next = try place.ferry.create(Self.unknown, session: try place.patientSession())
    #expect(try error(of: next, in: place) == -1003)
  }

  /// An interface with only a link-local address does not count as a network.
  @Test func `name is resolved after the interface has an address`() throws {
    let wrapper = try FerryProcess.replacing(
      "/etc/resolv.conf",
      by: "nameserver \(UnpluggableNetworkFixture.address)\noptions timeout:1 attempts:1\n")
    let place = try UnpluggableNetworkFixture(
      options: ["--interface-class", "none0=cellular"], wrapper: wrapper)
    try withExtendedLifetime(NameServer(in: place.there, address: UnpluggableNetworkFixture.address)) {
      try place.here.ip("address flush dev eth0")
      let id = try place.ferry.create(
        place.origin.url(at: "origin.example"), session: try place.patientSession())
      try place.waitForConnectivityEvent(id)
      try place.setLinkUp()
      try place.here.ip("address add fe80::77/64 dev eth0 nodad")
      try place.ferry.seeNetworks()
      #expect(try place.ferry.task(id)["state"]?.string == "running")
      try place.here.ip("address add 10.9.0.1/24 dev eth0")
      #expect(try place.success(of: id) == Pattern.bytes(UnpluggableNetworkFixture.size))
      #expect(place.origin.requests.map { $0["Host"] } == ["origin.example:\(place.origin.port)"])
    }
  }

  /// A host that refuses the connection is reachable.
  @Test func `refused connection ends the task`() throws {
    let place = try UnpluggableNetworkFixture(isUp: true)
    let session = try place.patientSession()
    for url in ["http://\(UnpluggableNetworkFixture.address):1/", "http://127.0.0.1:1/"] {
      let id = try place.ferry.create(url, session: session)
      #expect(try error(of: id, in: place) == -1004)
    }
    try place.setLinkDown()
    let id = try place.ferry.create("http://127.0.0.1:1/", session: session)
    #expect(try error(of: id, in: place) == -1004)
  }

  /// The egress policy's refusal ends the task as well.
  @Test func `forbidden destination ends the task`() throws {
    let place = try UnpluggableNetworkFixture()
    let id = try place.ferry.create("http://192.168.7.7/", session: try place.patientSession())
    #expect(try error(of: id, in: place) == 1)
    #expect(try place.ferry.task(id)["error"]?["name"]?.string == "destinationNotPermitted")
  }

  /// A host that does not respond may be slow, so the task does not wait for connectivity.
  @Test func `unresponsive host ends the task by its timeout`() throws {
    let place = try UnpluggableNetworkFixture(isUp: true)
    try place.here.ip("neighbour add 10.9.0.77 lladdr 02:00:00:00:00:77 dev eth0 nud permanent")
    let session = try place.patientSession(#","timeoutIntervalForRequest":0.8"#)
    let id = try place.ferry.create("http://10.9.0.77/", session: session)
    #expect(try error(of: id, in: place) == -1001)
  }

  /// The other end of the link is down, and the kernel finds no host there.
  @Test func `link without a carrier is waited for`() throws {
    let place = try UnpluggableNetworkFixture(isUp: true)
    try place.there.ip("link set far0 down")
    let patient = try place.ferry.create(place.url, session: try place.patientSession())
    let hasty = try place.ferry.create(place.url)
    let impatient = try place.ferry.create(place.url, request: #","timeoutInterval":0.5"#)
    let start = ContinuousClock.now
    let codes = [hasty, impatient].map { try? error(of: $0, in: place) }
    #expect([-1004, -1009].contains(codes[0]) && [-1001, -1009].contains(codes[1]))
    try place.waitForConnectivityEvent(patient)
    #expect(.now - start < .seconds(15))
    try place.there.ip("link set far0 up")
    #expect(try place.success(of: patient) == Pattern.bytes(UnpluggableNetworkFixture.size))
  }

  @Test func `redirect waits for connectivity`() throws {
    let place = try UnpluggableNetworkFixture()
    let id = try place.ferry.create(place.neighbour.url + "/redirect", session: try place.patientSession())
    try place.waitForConnectivityEvent(id)
    let task = try place.ferry.task(id)
    #expect(task["currentRequest"]?["url"]?.string == place.url + "/target")
    #expect(task["response"] == .null)
    try place.setLinkUp()
    #expect(try place.success(of: id) == Pattern.bytes(UnpluggableNetworkFixture.size))
    #expect(place.neighbour.requests.count == 1 && place.origin.requests.map(\.path) == ["/target"])
  }

  @Test func `loopback needs no connectivity`() throws {
    let place = try UnpluggableNetworkFixture()
    let id = try place.ferry.create(place.neighbour.url, session: try place.patientSession())
    #expect(try error(of: id, in: place) == nil)
    #expect(try place.body(of: id) == Array("near".utf8))
  }

  // MARK: Kept connections

  /// An idle connection does not notice the loss of its link.
  @Test func `connection is not reused without its link`() throws {
    let place = try UnpluggableNetworkFixture(isUp: true, options: ["--interface-class", "none0=cellular"])
    let (patient, hasty) = (try place.patientSession(), try place.ferry.session(FerryProcess.uncached))
    for session in [patient, hasty] {
      #expect(try place.ferry.run(place.url, session: session)["error"] == .null)
    }
    try place.setLinkDown()
    try place.ferry.seeNetworks()
    let lost = try place.ferry.create(place.url, session: hasty)
    #expect(try error(of: lost, in: place) == -1009)
    let id = try place.ferry.create(place.url, session: patient)
    try place.waitForConnectivityEvent(id)
    try place.setLinkUp()
    #expect(try place.success(of: id) == Pattern.bytes(UnpluggableNetworkFixture.size))
  }

  /// A new link does not affect existing connections.
  @Test func `connection is reused after a link is added`() throws {
    let place = try UnpluggableNetworkFixture(isUp: true, options: ["--interface-class", "none0=cellular"])
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

  // MARK: Running transfers

  /// Starts a task and waits until half of its response has arrived.
  private func begin(_ place: UnpluggableNetworkFixture, request: String = "") throws -> String {
    let id = try place.ferry.create(
      place.url + "/halves", session: try place.patientSession(), request: request)
    let half = Int64(UnpluggableNetworkFixture.size / 2)
    let task = try place.ferry.poll("/v1/tasks/\(id)") {
      $0["progress"]?["countOfBytesReceived"]?.integer == half
    }
    #expect(task["progress"]?["countOfBytesReceived"]?.integer == half)
    return id
  }

  /// TCP retransmits the lost segments.
  @Test func `transfer survives a link that was down`() throws {
    let place = try UnpluggableNetworkFixture(isUp: true)
    let id = try begin(place)
    try place.setLinkDown()
    place.gate.open()
    try place.pass(seconds: 0.5)
    #expect(try place.ferry.task(id)["phase"]?.string == "transferring")
    try place.setLinkUp()
    #expect(try error(of: id, in: place) == nil)
    #expect(try place.body(of: id) == Pattern.bytes(UnpluggableNetworkFixture.size))
    #expect(place.origin.requests.count == 1)
  }

  /// A task that had a connection does not wait for another.
  @Test func `transfer without a link ends by its timeout`() throws {
    let place = try UnpluggableNetworkFixture(isUp: true)
    let id = try begin(place, request: #","timeoutInterval":1"#)
    try place.setLinkDown()
    place.gate.open()
    #expect(try error(of: id, in: place) == -1001)
  }
}
