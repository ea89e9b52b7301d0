import Foundation
import JSON
import Processes
import TestSupport
import Testing

/// A newer service starts on the data directory of a running one.
@Suite(.serialized, .blocking, .endsInTime) struct UpgradeTests {
  private let directory = TemporaryDirectory.make("ferry-upgrade")
  private let origin = TestOrigin { request, socket in
    let isSlow = request.path == "/slow"
    let head = isSlow ? "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 400000\r\n\r\n" : ""
    guard isSlow else {
      try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
      return true
    }
    try socket.write(head)
    for _ in 0..<40 {
      try socket.write([UInt8](repeating: 7, count: 10_000))
      usleep(50_000)
    }
    return true
  }

  /// Returns a wrapper that runs a copy of the program with other bytes, which therefore counts as another version.
  private func anotherBuild() throws -> [String] {
    let copy = TemporaryDirectory.make("ferry-build") + "/ferry"
    // A separate process writes the copy. A process that another test starts could inherit a descriptor of this process, and a file
    // that is open for writing cannot be executed (ETXTBSY).
    let script = #"cp "$0" "$1" && printf '\0' >> "$1""#
    try ChildProcess("/bin/sh", ["-c", script, FerryProcess.binary, copy]).waitUntilExit()
    return ["/bin/sh", "-c", #"shift; exec "\#(copy)" "$@""#, "sh"]
  }

  @Test func `upgrade keeps tasks running and replaces the worker`() throws {
    let old = try FerryProcess(directory: directory)
    let plain = try (0..<4).map { _ in try old.call("POST", "/v1/sessions", "{}").json.id }
    let session = try old.call(
      "POST", "/v1/sessions", #"{"type":"background","identifier":"a","delegate":{}}"#
    ).json.id
    let task = try old.create(origin.url + "/slow", kind: "download", session: session)
    let former = try old.worker.waitUntilItWorks()
    let new = try FerryProcess(directory: directory, wrapper: anotherBuild())
    #expect(old.terminate() == 0)
    let next = try new.worker.wait(after: former)
    let path = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(next)/exe")
    #expect(path != FerryProcess.binary)
    let end = try new.end(of: task)
    #expect(end["error"] == .null && end["body"]?["size"]?.integer == 400_000)
    for session in plain { #expect(try new.run(origin.url + "/a", session: session)["error"] == .null) }
    #expect(new.terminate() == 0)
  }

  /// The new service waits until an incompatible older one has ended. This test plays the older one.
  @Test func `new service waits for an incompatible older one`() throws {
    let first = try FerryProcess(directory: directory)
    let session = try first.call("POST", "/v1/sessions", "{}").json.id
    #expect(first.terminate() == 0)
    let older = try #require(VersionLock(path: directory + "/ferry.db-turn", number: 3))
    older.lock()
    var hasWaited = false
    let new = try FerryProcess(directory: directory) { text in
      guard !hasWaited, text.contains("waiting until the services") else { return }
      hasWaited = true
      older.unlock()
    }
    #expect(hasWaited)
    #expect(try new.run(origin.url + "/a", session: session)["error"] == .null)
    #expect(new.terminate() == 0)
  }
}
