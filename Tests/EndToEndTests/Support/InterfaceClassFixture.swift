import JSON
import TestSupport
import Testing

/// The service in a network namespace with three links to an origin's network. The origin sees by the peer address
/// which link was used.
/// By its metrics, the kernel prefers `wwan0`, then `sat0`, then `eth0`.
final class InterfaceClassFixture {
  enum Link: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case wwan0, sat0, eth0

    fileprivate var number: Int { Self.allCases.firstIndex(of: self).map { $0 + 1 } ?? 0 }
    /// The service's address on the link.
    var address: String { "10.\(number).0.1" }
    /// The origin's address on the link, reachable only through it.
    var peer: String { "10.\(number).0.2" }
    var testDescription: String { rawValue }
  }

  /// The origin's address that is reachable through all links.
  static let address = "10.99.0.1"
  static let classes = ["wwan0=cellular", "sat0=constrained"]

  let here: NetworkNamespace
  let there: NetworkNamespace
  let ferry: FerryProcess
  /// Responds with the address that the request came from.
  let origin: TestOrigin
  /// An origin in the service's own network. `/redirect/name` leads to the other origin at the host `name`.
  let neighbour: TestOrigin

  /// - Parameters:
  ///   - classes: The values of `--interface-class`.
  ///   - hosts: The lines of the service's own `/etc/hosts`.
  init(
    _ classes: [String] = InterfaceClassFixture.classes, up: [Link] = Link.allCases, options: [String] = [],
    environment: [String: String] = [:], hosts: String? = nil,
    origin handler: @escaping TestOrigin.Handler = InterfaceClassFixture.answer
  ) throws {
    let (here, there) = (try NetworkNamespace(), try NetworkNamespace())
    (self.here, self.there) = (here, there)
    try there.ip("address add \(Self.address)/32 dev lo")
    for link in Link.allCases {
      try here.connect(link.rawValue, "\(link.address)/24", to: there, "far-\(link)", "\(link.peer)/24")
      if up.contains(link) { try Self.addRoute(link, in: here) } else { try here.ip("link set \(link) down") }
    }
    origin = try TestOrigin(in: there, handler)
    let port = origin.port
    neighbour = try TestOrigin(in: here) { request, socket in
      guard request.path.hasPrefix("/redirect/"), let host = request.path.split(separator: "/").last else {
        return try Self.answer(request, socket)
      }
      try socket.write(TestOrigin.reply("302 Found", [], [("Location", "http://\(host):\(port)/target")]))
      return true
    }
    ferry = try FerryProcess(
      networks: ["127.0.0.0/8", "10.0.0.0/8"],
      options: classes.flatMap { ["--interface-class", $0] } + options,
      wrapper: try hosts.map { try FerryProcess.replacing("/etc/hosts", by: $0) } ?? [],
      environment: environment, in: here)
  }

  static let answer: TestOrigin.Handler = { request, socket in
    try socket.write(TestOrigin.reply("200 OK", Array(request.peer.utf8)))
    return true
  }

  var url: String { origin.url(at: Self.address) }

  /// Raises the link and waits until the service has noticed.
  func raise(_ link: Link) throws {
    try here.ip("link set \(link) up")
    try Self.addRoute(link, in: here)
    try ferry.seeNetworks()
  }

  /// Lowers the link, which removes its routes, and waits until the service has noticed.
  func lower(_ link: Link) throws {
    try here.ip("link set \(link) down")
    try ferry.seeNetworks()
  }

  private static func addRoute(_ link: Link, in here: NetworkNamespace) throws {
    try here.ip("route add \(address)/32 via \(link.peer) dev \(link) metric \(link.number * 100)")
  }

  /// Returns a session whose configuration has these further members.
  func session(_ members: String = "") throws -> String {
    try ferry.session(#"{"urlCache":null\#(members.isEmpty ? "" : ",")\#(members)}"#)
  }

  /// Runs a task and returns the link through which its request reached the origin.
  func link(
    _ url: String? = nil, session: String, request: String = "",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> Link? {
    let task = try ferry.run(url ?? self.url, kind: "data", session: session, request: request)
    #expect(task["error"] == .null, "\(task.text)", sourceLocation: sourceLocation)
    return try link(of: task.id)
  }

  /// Returns the link that the origin reported in its response.
  func link(of id: String) throws -> Link? {
    let text = try ferry.call("GET", "/v1/tasks/\(id)/body").text
    return Link.allCases.first { $0.address == text }
  }

  /// Runs a task that no network may carry, and returns the reason, or "" if the error has none.
  func refusal(
    _ url: String? = nil, session: String, request: String = "",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> String {
    let url = url ?? self.url
    let error = try ferry.run(url, kind: "data", session: session, request: request)["error"]
    #expect(error?["code"]?.integer == -1009, sourceLocation: sourceLocation)
    #expect(error?["name"]?.string == "notConnectedToInternet", sourceLocation: sourceLocation)
    return error?["networkUnavailableReason"]?.string ?? ""
  }
}
