import BlobStore
import TestSupport
import Testing
import TransferModel

@testable import Processes

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
    #expect(try Golden.names(in: "directory") == ["lock.1", "names", "stamped"])
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
    let bodies = BlobKey.Part.allCases.map { BlobKey(Self.task, $0, nil) }
    let files = [BlobKey(Self.file), BlobKey(Self.file).part(.draft)]
    let names =
      bodies.map { "bodies/\($0)" } + files.map { "files/\($0)" } + [
        "\(SetAside.name)/\(Self.time)", DirectoryLock.name,
      ]
    try Golden.expect(names.joined(separator: "\n") + "\n", is: "directory/names")
    // What was written under an epoch, or by one of several attempts.
    let stamped = [BlobStamp(epoch: 7), BlobStamp(attempt: 2), BlobStamp(epoch: 1 << 40, attempt: 12)]
    let later = stamped.flatMap { stamp in BlobKey.Part.allCases.map { BlobKey(Self.task, $0, stamp) } }
    try Golden.expect(later.map { "bodies/\($0)\n" }.joined(), is: "directory/stamped")
    let found = try Golden.lines("directory/names").prefix(6) + Golden.lines("directory/stamped")
    #expect(
      found.map { BlobKey(String($0.drop { $0 != "/" }.dropFirst())) } == (bodies + files + later)
        as [BlobKey?])
    // Whoever looks for what is old finds the time in the name.
    let time = try Golden.lines("directory/names").first { $0.hasPrefix(SetAside.name) }
      .flatMap { Timestamp(String($0.dropFirst(SetAside.name.count + 1))) }
    #expect(time?.milliseconds == Self.time.milliseconds)
  }
}
