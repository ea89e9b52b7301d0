import JSON
import TestSupport
import Testing

/// The service in a network of its own with three ways to the network of an origin: the origin sees by the address of the
/// other side which one was taken. Left to itself the kernel takes `wwan0`, then `sat0`, then `eth0`.
final class ClassedPlace {
  enum Link: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case wwan0, sat0, eth0

    fileprivate var number: Int { Self.allCases.firstIndex(of: self).map { $0 + 1 } ?? 0 }
    /// Of the service.
    var address: String { "10.\(number).0.1" }
    /// Of the origin, where only this link leads to.
    var peer: String { "10.\(number).0.2" }
    var testDescription: String { rawValue }
  }

  /// Of the origin, where all links lead to.
  static let address = "10.99.0.1"
  static let classes = ["wwan0=cellular", "sat0=constrained"]

  let here: NetworkNamespace
  let there: NetworkNamespace
  let ferry: FerryProcess
  /// Answers with the address that the request came from.
  let origin: TestOrigin
  /// In the service's own network. `/redirect/name` leads to the origin at the address of that name.
  let neighbour: TestOrigin

  /// - Parameters:
  ///   - classes: what `--interface-class` says.
  ///   - hosts: the lines of the service's own /etc/hosts.
  init(
    _ classes: [String] = ClassedPlace.classes, up: [Link] = Link.allCases, options: [String] = [],
    environment: [String: String] = [:], hosts: String? = nil,
    origin handler: @escaping TestOrigin.Handler = ClassedPlace.answer
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

  /// Both return when the service knows it.
  func raise(_ link: Link) throws {
    try here.ip("link set \(link) up")
    try Self.addRoute(link, in: here)
    try ferry.seeNetworks()
  }

  /// Its routes go with it.
  func lower(_ link: Link) throws {
    try here.ip("link set \(link) down")
    try ferry.seeNetworks()
  }

  private static func addRoute(_ link: Link, in here: NetworkNamespace) throws {
    try here.ip("route add \(address)/32 via \(link.peer) dev \(link) metric \(link.number * 100)")
  }

  /// A session with more members of its configuration.
  func session(_ members: String = "") throws -> String {
    try ferry.session(#"{"urlCache":null\#(members.isEmpty ? "" : ",")\#(members)}"#)
  }

  /// Runs a task and returns the link that the origin saw it come by.
  func link(
    _ url: String? = nil, session: String, request: String = "",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> Link? {
    let task = try ferry.run(url ?? self.url, kind: "data", session: session, request: request)
    #expect(task["error"] == .null, "\(task.text)", sourceLocation: sourceLocation)
    return try link(of: task.id)
  }

  /// By what the origin answered.
  func link(of id: String) throws -> Link? {
    let text = try ferry.call("GET", "/v1/tasks/\(id)/body").text
    return Link.allCases.first { $0.address == text }
  }

  /// Runs a task that may not go; returns the reason, "" where there is none.
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
