import JSON
import TestSupport
import Testing

/// The choice among several networks: `allowsCellularAccess`, `allowsExpensiveNetworkAccess` and
/// `allowsConstrainedNetworkAccess` of `URLSessionConfiguration` and `URLRequest`.
@Suite(.serialized, .blocking) struct InterfaceClassTests {
  typealias Link = InterfaceClassFixture.Link
  private static let noCellular = #""allowsCellularAccess":false"#
  private static let noExpensive = #""allowsExpensiveNetworkAccess":false"#
  private static let noConstrained = #""allowsConstrainedNetworkAccess":false"#
  private static let nothing = [noCellular, noExpensive, noConstrained].joined(separator: ",")

  /// The settings of session and request, and the link that the task must use.
  struct Way: Sendable, CustomTestStringConvertible {
    var session = ""
    var request = ""
    let link: Link
    var testDescription: String { "\(session) | \(request)" }
  }
  private static let ways = [
    Way(link: .wwan0),
    Way(session: noCellular, link: .sat0), Way(request: noCellular, link: .sat0),
    // A cellular network is expensive too.
    Way(session: noExpensive, link: .sat0), Way(request: noExpensive, link: .sat0),
    Way(session: noConstrained, link: .wwan0), Way(request: noConstrained, link: .wwan0),
    Way(session: noCellular, request: noConstrained, link: .eth0),
    Way(session: noConstrained, request: noExpensive, link: .eth0),
    Way(session: nothing, link: .eth0), Way(request: nothing, link: .eth0),
    // A request cannot lift its session's restriction.
    Way(session: noCellular, request: #""allowsCellularAccess":true"#, link: .sat0),
  ]

  @Test func `tasks use the best permitted link`() throws {
    let place = try InterfaceClassFixture()
    for way in Self.ways {
      let request = way.request.isEmpty ? "" : "," + way.request
      let link = try place.link(session: try place.session(way.session), request: request)
      #expect(link == way.link, "\(way)")
    }
    #expect(place.origin.requests.count == Self.ways.count)
  }

  @Test(arguments: [
    (Link.wwan0, noCellular, "cellular"), (.wwan0, noExpensive, "expensive"),
    (.wwan0, nothing, "cellular"), (.sat0, noConstrained, "constrained"), (.sat0, nothing, "constrained"),
  ])
  func `task without permitted link fails`(_ link: Link, _ access: String, _ reason: String) throws {
    let place = try InterfaceClassFixture(up: [link])
    #expect(try place.refusal(session: try place.session(access)) == reason)
    #expect(try place.refusal(session: try place.session(), request: "," + access) == reason)
    #expect(place.origin.requests.isEmpty)
    // Tasks without the restriction succeed.
    #expect(try place.link(session: try place.session()) == link)
    // If no link leads to the origin, the error has no reason.
    try place.lower(link)
    #expect(try place.refusal(session: try place.session(access)) == "")
    #expect(try place.refusal(session: try place.session()) == "")
  }

  @Test func `task waits for a permitted link`() throws {
    let place = try InterfaceClassFixture(up: [.wwan0])
    let patient = #""waitsForConnectivity":true,"#
    let bySession = try place.ferry.create(place.url, session: try place.session(patient + Self.nothing))
    let session = try place.session(patient + Self.noCellular)
    let byRequest = try place.ferry.create(
      place.url, session: session, request: "," + Self.noConstrained)
    let hasty = try place.ferry.create(place.url, session: session)
    func waits(_ id: String) throws {
      let types = "\(UnpluggableNetworkFixture.waiting),task.didComplete"
      let event = try place.ferry.events("/v1/tasks/\(id)/events?after=0&types=\(types)").next()
      #expect(event?.type == UnpluggableNetworkFixture.waiting)
      // The task may try again at each network change.
      let task = try place.ferry.poll("/v1/tasks/\(id)") { $0["phase"]?.string == "waitingForConnectivity" }
      #expect(task["phase"]?.string == "waitingForConnectivity")
    }
    for id in [bySession, byRequest, hasty] { try waits(id) }
    // This link is permitted for one of the tasks only.
    try place.raise(.sat0)
    #expect(try place.ferry.end(of: hasty)["error"] == .null)
    #expect(try place.link(of: hasty) == .sat0)
    #expect(try place.ferry.task(bySession)["state"]?.string == "running")
    try place.raise(.eth0)
    for id in [bySession, byRequest] {
      #expect(
        try place.ferry.story(of: id).filter { $0.type == UnpluggableNetworkFixture.waiting }.count == 1)
      #expect(try place.ferry.task(id)["error"] == .null)
      #expect(try place.link(of: id) == .eth0)
    }
    #expect(place.origin.requests.count == 3)
  }

  // MARK: Connections

  @Test func `connection is not shared with tasks that may not use its link`() throws {
    let place = try InterfaceClassFixture()
    let session = try place.session()
    func run(_ access: String = "") throws -> (link: Link?, isReused: Bool?) {
      let task = try place.ferry.run(place.url, session: session, request: access)
      let transaction = try place.ferry.metrics(of: task.id)["transactionMetrics"]?.elements?.first
      let link = try place.link(of: task.id)
      #expect(["isCellular", "isExpensive", "isConstrained"].map { transaction?[$0]?.bool } == classes(link))
      return (link, transaction?["isReusedConnection"]?.bool)
    }
    func classes(_ link: Link?) -> [Bool] { [link == .wwan0, link == .wwan0, link == .sat0] }
    #expect(try run() == (.wwan0, false))
    #expect(try run("," + Self.noCellular) == (.sat0, false))
    #expect(try run("," + Self.nothing) == (.eth0, false))
    // Each kind of task reuses its own connection.
    #expect(try run() == (.wwan0, true))
    #expect(try run("," + Self.noCellular) == (.sat0, true))
    #expect(try run("," + Self.nothing) == (.eth0, true))
  }

  @Test func `task uses another link after one is gone`() throws {
    let place = try InterfaceClassFixture()
    let session = try place.session()
    for link in [Link.wwan0, .sat0, .eth0] {
      #expect(try place.link(session: session) == link)
      try place.lower(link)
    }
    #expect(try place.refusal(session: session) == "")
    try place.raise(.sat0)
    #expect(try place.link(session: session) == .sat0)
  }

  /// The origin closes the connection without a response, so the request is sent again on a permitted connection.
  @Test func `repeated request is checked again`() throws {
    let (arrived, gate) = (Gate(), Gate())
    let place = try InterfaceClassFixture(up: [.wwan0, .sat0]) { request, socket in
      guard request.path == "/again", request.peer == Link.sat0.address else {
        return try InterfaceClassFixture.answer(request, socket)
      }
      arrived.open()
      gate.wait()
      return false
    }
    let session = try place.session(Self.noCellular)
    #expect(try place.link(session: session) == .sat0)
    let id = try place.ferry.create(place.url + "/again", session: session)
    #expect(arrived.wait())
    // The link stays up, but no longer leads to the origin.
    try place.here.ip("route del \(InterfaceClassFixture.address)/32 dev sat0")
    try place.ferry.seeNetworks()
    gate.open()
    let task = try place.ferry.end(of: id)
    #expect(task.errorCode == -1009 && task["error"]?["networkUnavailableReason"]?.string == "cellular")
    #expect(place.origin.requests.map(\.peer) == [Link.sat0.address, Link.sat0.address])
  }

  // MARK: Destinations

  @Test func `local addresses are permitted for all tasks`() throws {
    let place = try InterfaceClassFixture()
    let session = try place.session(Self.nothing)
    let port = place.neighbour.port
    for host in ["127.0.0.1", "localhost", Link.wwan0.address, Link.eth0.address] {
      let task = try place.ferry.run("http://\(host):\(port)/", session: session)
      #expect(task["error"] == .null && task["response"]?["status"]?.integer == 200, "\(host)")
    }
    for link in Link.allCases { try place.lower(link) }
    #expect(try place.ferry.run(place.neighbour.url, session: session)["error"] == .null)
  }

  /// Each of these addresses is reachable through one link only.
  @Test func `address of one link needs that link`() throws {
    let place = try InterfaceClassFixture()
    let (free, bound) = (try place.session(), try place.session(Self.nothing))
    for link in Link.allCases {
      #expect(try place.link(place.origin.url(at: link.peer), session: free) == link)
    }
    #expect(try place.link(place.origin.url(at: Link.eth0.peer), session: bound) == .eth0)
    #expect(try place.refusal(place.origin.url(at: Link.wwan0.peer), session: bound) == "cellular")
    #expect(try place.refusal(place.origin.url(at: Link.sat0.peer), session: bound) == "constrained")
  }

  /// A name may have addresses on several links.
  @Test func `name is reached by an address on a permitted link`() throws {
    let names =
      [Link.wwan0, .sat0, .eth0].map { "\($0.peer) all.example" } + ["\(Link.wwan0.peer) one.example"]
    let place = try InterfaceClassFixture(
      hosts: (["127.0.0.1 localhost"] + names).joined(separator: "\n") + "\n")
    func url(_ name: String) -> String { place.origin.url(at: name) }
    let session = try place.session(Self.nothing)
    #expect(try place.link(url("all.example"), session: session) == .eth0)
    #expect(try place.refusal(url("one.example"), session: session) == "cellular")
    #expect(try place.link(url("one.example"), session: try place.session()) == .wwan0)
  }

  @Test func `redirects are checked again`() throws {
    let place = try InterfaceClassFixture()
    let session = try place.session(Self.nothing)
    func url(_ host: String) -> String { "\(place.neighbour.url)/redirect/\(host)" }
    #expect(try place.link(url(InterfaceClassFixture.address), session: session) == .eth0)
    #expect(try place.link(url(Link.eth0.peer), session: session) == .eth0)
    #expect(try place.refusal(url(Link.wwan0.peer), session: session) == "cellular")
    try place.lower(.eth0)
    let next = try place.session(Self.nothing)
    #expect(try place.refusal(url(InterfaceClassFixture.address), session: next) == "cellular")
    #expect(try place.link(url(InterfaceClassFixture.address), session: try place.session()) == .wwan0)
  }

  /// The rules apply to the link that leads to the proxy.
  @Test func `proxies follow the same rules`() throws {
    let place = try InterfaceClassFixture()
    let url = "http://origin.example/path"
    func session(_ proxy: String, _ access: String = "") throws -> String {
      try place.session(#""proxies":{"http":"\#(proxy)"}"# + (access.isEmpty ? "" : ",") + access)
    }
    #expect(try place.link(url, session: try session(place.url)) == .wwan0)
    #expect(try place.link(url, session: try session(place.url, Self.noCellular)) == .sat0)
    #expect(try place.link(url, session: try session(place.url, Self.nothing)) == .eth0)
    #expect(place.origin.requests.map(\.line) == Array(repeating: "GET \(url) HTTP/1.1", count: 3))
    for link in [Link.sat0, .eth0] { try place.lower(link) }
    #expect(try place.refusal(url, session: try session(place.url, Self.nothing)) == "cellular")
    // The rules do not apply beyond a proxy on the same machine.
    let near = try session(place.neighbour.url, Self.nothing)
    #expect(try place.ferry.run("http://\(Link.wwan0.peer)/", session: near)["error"] == .null)
  }
}
