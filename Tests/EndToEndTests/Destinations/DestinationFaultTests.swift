import Foundation
import JSON
import TestSupport
import Testing

/// Directories that fill up or become read-only while the program downloads.
@Suite(.serialized, .blocking, .endsInTime) struct DestinationFaultTests {
  private static let size = 2_000_000
  private let media = TemporaryDirectory.make("ferry-media")
  private let gate: Gate
  private let origin: TestOrigin
  private let ferry: FerryProcess

  /// The directory is a file system of 1 MiB, which only the program sees.
  init() throws {
    let gate = Gate()
    self.gate = gate
    origin = TestOrigin { _, socket in
      let reply = TestOrigin.reply("200 OK", [UInt8](repeating: 7, count: Self.size))
      try socket.write(Array(reply.prefix(Self.size / 2)))
      gate.wait()
      try socket.write(Array(reply.dropFirst(Self.size / 2)))
      return true
    }
    let script = "mount -t tmpfs -o size=1m tmpfs \(media) && exec \"$@\""
    ferry = try FerryProcess(
      options: ["--destination-directory", media],
      wrapper: ["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh"])
  }

  /// The directory as the program sees it.
  private var seen: String { "/proc/\(ferry.processIdentifier)/root\(media)" }

  private func remount(_ options: String) throws {
    let target = "\(ferry.processIdentifier)"
    let result = try ChildProcess.run(
      "/usr/bin/nsenter",
      ["--target", target, "--mount", "--user", "--preserve-credentials"]
        + ["mount", "-o", "remount,\(options)", media])
    try #require(result.status == 0, "\(result)")
  }

  /// Downloads to a directory that fails after half of the body. Repeats the task when the directory is usable again.
  private func expectMove(
    failsWith errno: Int64, after break: () throws -> Void, then mend: () throws -> Void
  )
    throws
  {
    let body =
      #"{"kind":"download","resume":true,"request":{"url":"\#(origin.url)/"},"destination":{"file":"\#(media)/d/a"}}"#
    let id = try ferry.call("POST", "/v1/tasks", body).json.id
    _ = try ferry.poll("/v1/tasks/\(id)") { $0.received > 0 }
    try `break`()
    gate.openForGood()
    let failed = try ferry.end(of: id)
    #expect(failed.errorCode == 6 && failed["error"]?["name"]?.string == "destinationFailed", "\(failed)")
    #expect(failed["error"]?["underlying"]?["code"]?.integer == errno, "\(failed)")
    #expect(!files().contains { !$0.hasDirectoryPath })
    try mend()
    let again = try ferry.end(of: ferry.call("POST", "/v1/tasks/\(id)/retry").json.id)
    #expect(again["outcome"]?.string == "succeeded", "\(again)")
    let contents = FileManager.default.contents(atPath: seen + "/d/a")
    #expect(contents == Data(repeating: 7, count: Self.size) && files().count == 2)
    #expect(origin.requests.count == 1)
  }

  private func files() -> [URL] {
    let all = FileManager.default.enumerator(at: URL(fileURLWithPath: seen), includingPropertiesForKeys: nil)
    return all?.compactMap { $0 as? URL } ?? []
  }

  @Test func `full file system fails the task, and its repetition only moves the body`() throws {
    try expectMove(failsWith: 28, after: {}, then: { try remount("size=10m") })
  }

  @Test func `read-only directory fails the task, and its repetition only moves the body`() throws {
    try remount("size=10m")
    try expectMove(
      failsWith: 30, after: { try remount("size=10m,ro") }, then: { try remount("size=10m,rw") })
  }
}
