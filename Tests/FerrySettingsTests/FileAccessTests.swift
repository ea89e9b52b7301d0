import Foundation
import TestSupport
import Testing

@testable import FerrySettings

/// The access to files that Ferry depends on.
@Suite struct FileAccessTests {
  private static func access(_ mode: UInt32, owner: UInt32 = 7, group: UInt32 = 9) -> FileAccess {
    FileAccess(owner: owner, group: group, mode: mode)
  }

  @Test(
    arguments: [
      (0o100600, false, false), (0o100640, false, false), (0o100444, true, false), (0o100644, true, false),
      (0o100660, false, true), (0o100602, false, true), (0o100666, true, true),
    ] as [(UInt32, Bool, Bool)])
  func `file access follows the mode`(_ mode: UInt32, _ isReadable: Bool, _ isWritable: Bool) {
    let access = Self.access(mode)
    #expect(access.isReadableByAll == isReadable && access.isWritableByOthers == isWritable)
  }

  /// In a sticky directory users cannot remove other users' files.
  @Test(
    arguments: [
      (0o40700, false), (0o40755, false), (0o40757, true), (0o41777, false), (0o40777, true), (0o40770, true),
    ] as [(UInt32, Bool)])
  func `directory is open if other users may write to it`(_ mode: UInt32, _ isOpen: Bool) {
    #expect(Self.access(mode).isOpen(groups: [1]) == isOpen)
  }

  /// A container volume belongs to this process's own group, so group write access is safe.
  @Test func `own group may write to the directory`() {
    #expect(!Self.access(0o42770).isOpen(groups: [9]) && Self.access(0o42777).isOpen(groups: [9]))
  }

  private let directory = TemporaryDirectory.make("ferry-file-access")

  private func file(_ mode: Int) throws -> String {
    let path = directory + "/token"
    try "s3cret".write(toFile: path, atomically: false, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    return path
  }

  @Test func `file that others can change is refused`() throws {
    for mode in [0o666, 0o620] {
      let path = try file(mode)
      let error = #expect(throws: SettingsError.self) { try NamedFile.rejectWritable(path, of: \.tokenFile) }
      #expect(error?.description.contains("chmod go-w \(path)") == true)
    }
    #expect(throws: Never.self) { try NamedFile.rejectWritable(file(0o644), of: \.tokenFile) }
    #expect(throws: Never.self) { try NamedFile.rejectWritable(directory + "/none", of: \.tokenFile) }
  }

  @Test func `secret that all users can read causes a warning`() throws {
    let path = try file(0o444)
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory)
    #expect(NamedFile.warning(path) == nil)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory)
    // Directories above may keep others out, too.
    if directory.hasPrefix("/tmp/") {
      #expect(NamedFile.warning(path)?.contains(path) == true)
    }
    #expect(try NamedFile.warning(file(0o640)) == nil)
    #expect(NamedFile.warning("/run/secrets/none") == nil)
  }
}
