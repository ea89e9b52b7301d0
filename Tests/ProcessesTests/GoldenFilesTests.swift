import BlobStore
import TestSupport
import Testing
import TransferModel

@testable import Processes

/// Checks that later versions find the files of the data directory. `Tests/Golden/directory` has a lock's file and the names of all files.
@Suite struct GoldenFilesTests {
  private static let time = Timestamp(microseconds: 1_800_000_000_123_456)
  private static let task = TaskID(at: time, random: (3, .max))
  private static let file = FileID(at: time, random: (5, 7))

  @Test func `file of a lock names the owner`() throws {
    let owner = ProcessLock.Owner(pid: 4_194_304, startTime: 1 << 40, version: "0.9.0+0a0b0c0d \"x\"")
    try GoldenFiles.expect(owner.bytes, is: "directory/lock.1")
    #expect(ProcessLock.Owner(bytes: try GoldenFiles.bytes("directory/lock.1")) == owner)
    #expect(try GoldenFiles.names(in: "directory") == ["lock.1", "names", "stamped"])
  }

  /// A later version may add members.
  @Test func `unknown members of a lock are ignored`() throws {
    let text = try GoldenFiles.text("directory/lock.1")
    let more = text.replacing(#"{"pid""#, with: #"{"host":{"name":"a"},"pid""#)
    #expect(more != text)
    let owner = ProcessLock.Owner(bytes: Array(more.utf8))
    #expect(owner == ProcessLock.Owner(bytes: Array(text.utf8)) && owner != nil)
    for name in ["pid", "startTime", "version"] {
      let less = text.replacing("\"\(name)\"", with: "\"x\"")
      #expect(ProcessLock.Owner(bytes: Array(less.utf8)) == nil, "\(name)")
    }
  }

  @Test func `names of files never change`() throws {
    let bodies = BlobKey.Part.allCases.map { BlobKey(Self.task, $0, nil) }
    let files = [BlobKey(Self.file), BlobKey(Self.file).part(.draft)]
    let names =
      bodies.map { "bodies/\($0)" } + files.map { "files/\($0)" } + [
        "\(QuarantineDirectory.name)/\(Self.time)", DirectoryLock.name,
      ]
    try GoldenFiles.expect(names.joined(separator: "\n") + "\n", is: "directory/names")
    // Files with a stamp of epoch or attempt.
    let stamped = [BlobStamp(epoch: 7), BlobStamp(attempt: 2), BlobStamp(epoch: 1 << 40, attempt: 12)]
    let later = stamped.flatMap { stamp in BlobKey.Part.allCases.map { BlobKey(Self.task, $0, stamp) } }
    try GoldenFiles.expect(later.map { "bodies/\($0)\n" }.joined(), is: "directory/stamped")
    let found = try GoldenFiles.lines("directory/names").prefix(6) + GoldenFiles.lines("directory/stamped")
    #expect(
      found.map { BlobKey(String($0.drop { $0 != "/" }.dropFirst())) } == (bodies + files + later)
        as [BlobKey?])
    // The name of a quarantine contains its time.
    let time = try GoldenFiles.lines("directory/names").first { $0.hasPrefix(QuarantineDirectory.name) }
      .flatMap { Timestamp(String($0.dropFirst(QuarantineDirectory.name.count + 1))) }
    #expect(time?.milliseconds == Self.time.milliseconds)
  }
}
