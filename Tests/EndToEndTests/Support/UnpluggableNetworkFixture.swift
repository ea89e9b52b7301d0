import EventLoop
import Glibc
import JSON
import TestSupport
import Testing

/// The service and an origin in two network namespaces, joined by a link that can go down.
final class UnpluggableNetworkFixture {
  /// The origin's address.
  static let address = "10.9.0.2"
  /// The size of the origin's response body in bytes, larger than the database keeps.
  static let size = 100_000
  static let waiting = "task.isWaitingForConnectivity"

  let here: NetworkNamespace
  let there: NetworkNamespace
  let ferry: FerryProcess
  let origin: TestOrigin
  /// An origin on the service's own loopback. `/silent` never answers; `/redirect` leads to the other origin.
  let neighbour: TestOrigin
  /// Holds back the second half of `/halves`.
  let gate = Gate()

  /// - Parameter isUp: Whether the link is up when the service starts.
  init(isUp: Bool = false, options: [String] = [], wrapper: [String] = []) throws {
    (here, there) = (try NetworkNamespace(), try NetworkNamespace())
    try here.connect("eth0", "10.9.0.1/24", to: there, "far0", "\(Self.address)/24")
    if !isUp { try here.ip("link set eth0 down") }
    let gate = gate
    origin = try TestOrigin(in: there) { request, socket in
      let bytes = Pattern.bytes(Self.size)
      if request.path == "/halves" {
        try socket.write("HTTP/1.1 200 OK\r\nContent-Length: \(Self.size)\r\n\r\n")
        try socket.write(Array(bytes[..<(Self.size / 2)]))
        gate.wait()
        try socket.write(Array(bytes[(Self.size / 2)...]))
      } else if request.method == "PUT" {
        let isExact = request.body == Pattern.bytes(request.body.count)
        try socket.write(TestOrigin.reply("200 OK", Array("\(request.body.count) \(isExact)".utf8)))
      } else {
        try socket.write(TestOrigin.reply("200 OK", bytes))
      }
      return true
    }
    let target = origin.url(at: Self.address)
    neighbour = try TestOrigin(in: here) { request, socket in
      if request.path == "/silent" { return try socket.readSome() != nil }
      if request.path == "/redirect" {
        try socket.write(TestOrigin.reply("302 Found", [], [("Location", target + "/target")]))
      } else {
        try socket.write(TestOrigin.reply("200 OK", Array("near".utf8)))
      }
      return true
    }
    ferry = try FerryProcess(
      networks: ["127.0.0.0/8", "10.0.0.0/8"], options: options, wrapper: wrapper, in: here)
  }

  var url: String { origin.url(at: Self.address) }

  func setLinkUp() throws { try here.ip("link set eth0 up") }
  func setLinkDown() throws { try here.ip("link set eth0 down") }

  /// Returns a session whose tasks wait for connectivity.
  /// - Parameter more: further members of its configuration, after a comma.
  func patientSession(_ more: String = "") throws -> String {
    try ferry.session(#"{"urlCache":null,"waitsForConnectivity":true\#(more)}"#, delegate: "{}")
  }

  /// Waits for the task's event `task.isWaitingForConnectivity`.
  func waitForConnectivityEvent(_ id: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let types = "\(Self.waiting),task.didComplete"
    let event = try ferry.events("/v1/tasks/\(id)/events?after=0&types=\(types)").next()
    #expect(event?.type == Self.waiting && event?.data == .object([]), sourceLocation: sourceLocation)
  }

  /// Waits `seconds` by the service's clock, with a task that runs into its timeout on loopback.
  func pass(seconds: Double) throws {
    let task = try ferry.run(
      neighbour.url + "/silent", kind: "data", request: #","timeoutInterval":\#(seconds)"#)
    #expect(task.errorCode == -1001)
  }

  func isWaiting(_ id: String) throws -> Bool {
    let task = try ferry.task(id)
    return task["state"]?.string == "running" && task["phase"]?.string == "waitingForConnectivity"
  }

  func body(of id: String) throws -> [UInt8] { try ferry.call("GET", "/v1/tasks/\(id)/body").body }

  /// Expects that the task succeeded with one waiting event, and returns its body.
  /// - Parameter isPrompt: Whether the task must end within 13 s.
  func success(
    of id: String, isPrompt: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> [UInt8] {
    let start = ContinuousClock.now
    let story = try ferry.story(of: id)
    // The service's own interval of network checks is longer.
    #expect(!isPrompt || .now - start < .seconds(13), sourceLocation: sourceLocation)
    #expect(story.last?.data["error"] == .null, sourceLocation: sourceLocation)
    #expect(story.filter { $0.type == Self.waiting }.count == 1, sourceLocation: sourceLocation)
    return try body(of: id)
  }
}
