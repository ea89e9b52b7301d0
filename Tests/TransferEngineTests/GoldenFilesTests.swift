import TestSupport
import Testing
import TransferModel

@testable import TransferEngine

/// What stands in the data directory beside the database is found by every later version: `Tests/Golden/directory` has the lock's
/// file and the names as they are.
@Suite struct GoldenFilesTests {
  private static let time = Timestamp(microseconds: 1_800_000_000_123_456)
  private static let task = TaskID(at: time, random: (3, .max))
  private static let file = FileID(at: time, random: (5, 7))

  @Test func theLockSaysWhoHasIt() throws {
    let owner = ProcessLock.Owner(pid: 4_194_304, startTime: 1 << 40, version: "0.9.0+0a0b0c0d \"x\"")
    try Golden.expect(owner.bytes, is: "directory/lock.1")
    #expect(ProcessLock.Owner(bytes: try Golden.bytes("directory/lock.1")) == owner)
    #expect(try Golden.names(in: "directory") == ["lock.1", "names"])
  }

  /// A process of a later version may say more of itself, and is known by the rest.
  @Test func aLaterVersionMaySayMore() throws {
    let text = try Golden.text("directory/lock.1")
    let more = text.replacing(#"{"pid""#, with: #"{"host":{"name":"a"},"pid""#)
    #expect(more != text)
    let owner = ProcessLock.Owner(bytes: Array(more.utf8))
    #expect(owner == ProcessLock.Owner(bytes: Array(text.utf8)) && owner != nil)
    for name in ["pid", "startTime", "version"] {
      let less = text.replacing("\"\(name)\"", with: "\"x\"")
      #expect(ProcessLock.Owner(bytes: Array(less.utf8)) == nil, "\(name)")
    }
  }

  @Test func filesKeepTheirNames() throws {
    let (bodies, files) = (BodyDirectory(path: "bodies"), FileDirectory(path: "files"))
    let leftovers = Leftover.Kind.allCases.map { Leftover(Self.task, $0) }
    let names = [
      bodies.path(Self.task), bodies.temporaryPath(Self.task), bodies.partialPath(Self.task),
      files.path(Self.file), files.temporaryPath(Self.file), "\(SetAside.name)/\(Self.time)",
      DirectoryLock.name,
    ]
    try Golden.expect(names.joined(separator: "\n") + "\n", is: "directory/names")
    for name in try Golden.lines("directory/names").prefix(3) {
      let leftover = Leftover(name: String(name.dropFirst("bodies/".count)))
      #expect(leftover.map { leftovers.contains($0) } == true, "\(name)")
    }
    // Whoever looks for what is old finds the time in the name.
    let time = try Golden.lines("directory/names").first { $0.hasPrefix(SetAside.name) }
      .flatMap { Timestamp(String($0.dropFirst(SetAside.name.count + 1))) }
    #expect(time?.milliseconds == Self.time.milliseconds)
  }
}
