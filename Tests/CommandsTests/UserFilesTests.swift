import Foundation
import TestSupport
import Testing

@testable import Commands

/// Files and directories that the user names.
@Suite struct UserFilesTests {
  private static func text(of body: () throws(CommandFailure) -> Void) -> String? {
    do throws(CommandFailure) { try body() } catch { return error.description }
    return nil
  }

  @Test func `certificate and key come from a pipe`() throws {
    let certificate = "-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n"
    let key = "-----BEGIN PRIVATE KEY-----\nBB\n-----END PRIVATE KEY-----\n"
    let pipe = Pipe()
    pipe.fileHandleForWriting.write(Data((certificate + key).utf8))
    try pipe.fileHandleForWriting.close()
    let parts = try PEMFile.parts("/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)")
    #expect(parts.certificates == certificate && parts.key == key)
  }

  @Test(arguments: [nil, 0o700]) func `directory below a file names the reason`(_ permissions: Int?) {
    let directory = TemporaryDirectory.make("user-files")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    #expect(FileManager.default.createFile(atPath: directory + "/file", contents: nil))
    let text = Self.text { () throws(CommandFailure) in
      try OutputDirectory.make(directory + "/file/x", permissions: permissions)
    }
    #expect(text == "\(directory)/file/x cannot be created: Not a directory")
  }

  @Test func `private directory is for the user only`() throws {
    let directory = TemporaryDirectory.make("user-files")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try PrivateFile.makeDirectory(directory + "/a/b")
    let attributes = try FileManager.default.attributesOfItem(atPath: directory + "/a/b")
    #expect(attributes[.posixPermissions] as? Int == 0o700)
  }

  @Test(arguments: ["\n\nsecret\nother\n": "secret", "\n": nil]) func `first line counts`(
    _ text: String, _ line: String?
  ) { #expect(text.firstLine == line) }
}
