import Foundation
import Testing

/// Stored formats are written in few places, and each has golden files.
@Suite struct StoredFormTests {
  /// The folders of golden files.
  private static let rooms = [
    "answers", "cache", "client", "directory", "resume-data", "schema", "store", "worker",
  ]

  @Test func `every folder of golden files has a test`() throws {
    let folder = SourceTree.root.appendingPathComponent("Tests/Golden")
    let found = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(found.sorted() == Self.rooms)
    let tests = try SourceTree.swiftFiles(under: "Tests").values.flatMap { $0 }
    for room in Self.rooms {
      #expect(
        tests.contains { $0.text.contains("GoldenFiles.names(in: \"\(room)\")") },
        "no test lists the golden files of \(room)")
    }
  }

  /// Only the tables of `Records` write and read documents.
  @Test func `only Records encode values`() throws {
    let words = [
      "JSONEncoder(", "JSONDecoder(", "PropertyListEncoder(", "JSONSerialization", "NSKeyed", ": Codable",
      ", Codable",
    ]
    for file in try SourceTree.swiftFiles(under: "Sources").values.flatMap({ $0 }) {
      for word in words {
        #expect(!file.text.contains(word), "\(file.path): \(word); declare a stored form with golden files")
      }
    }
  }

  /// Only these files write files. A file that a later process reads has golden files.
  @Test func `files are written in few places`() throws {
    let writers: Set = [
      // Bytes of clients and origins.
      "BlobStore/FileDraft.swift", "BlobStore/DirectoryBlobs.swift", "EventLoop/Disk.swift",
      "FerryClient/Session/BodyFiles.swift",
      "EventLoop/OpenDirectory.swift",
      "HTTPCache/Storage/CacheFile.swift", "HTTPCache/Storage/CacheDisk.swift",
      // Text for people and log collectors.
      "EventLoop/DescriptorTransfer.swift", "EventLoop/StandardOutput.swift",
      "Commands/Support/Terminal.swift", "Commands/Support/CommandOutput.swift",
      // Files of the client's user.
      "Commands/Get/BodyFile.swift", "Commands/Get/GetState.swift", "Commands/Support/PrivateFile.swift",
      // Formats of their own.
      "BlobStore/DurableFile.swift", "Processes/ProcessLock.swift", "ferry/SecretKeys.swift",
    ]
    let calls =
      /DurableFile\.write|CacheFile\.write|pwrite\(|Glibc\.write\(|DescriptorTransfer\.write|\.write\(toFile|\.write\(to: URL/
    for file in try SourceTree.swiftFiles(under: "Sources").values.flatMap({ $0 }) {
      let isWriter = writers.contains { file.path.hasSuffix($0) }
      guard !isWriter, let found = file.text.firstMatch(of: calls) else { continue }
      Issue.record("\(file.path): \(found.0)")
    }
  }

  /// A failed write of a result must end the command with an error, which only `CommandOutput` does.
  @Test func `results of commands are written in one place`() throws {
    let others: Set = [
      // The log, and the screen of `ferry top`.
      "ferry/JSONLogHandler.swift", "Commands/Support/Screen.swift",
    ]
    for file in try SourceTree.swiftFiles(under: "Sources").values.flatMap({ $0 }) {
      guard !others.contains(where: file.path.hasSuffix) else { continue }
      guard let found = file.text.firstMatch(of: /StandardOutput\.write|\bprint\(/) else { continue }
      Issue.record("\(file.path): \(found.0)")
    }
  }

  /// Code that handles bodies uses keys. Only `BlobStore` knows paths and descriptors.
  @Test func `code that handles bodies uses no paths`() throws {
    let rooms = [
      "TransferService/", "TransferAPI/", "EngineAPI/Bodies/", "TransferEngine/Body/",
      "TransferEngine/Transfer/", "TransferEngine/Stages/", "TransferEngine/Loop/",
      "TransferEngine/Machine/",
    ]
    let words = /\bDisk\.|\bDescriptors\.|O_RDONLY|\bpread\(|\bpwrite\(|\bfcntl\(|descriptor: Int32/
    for file in try SourceTree.swiftFiles(under: "Sources").values.flatMap({ $0 })
    where rooms.contains(where: { file.path.hasPrefix("Sources/" + $0) }) {
      if let found = file.text.firstMatch(of: words) { Issue.record("\(file.path): \(found.0)") }
    }
  }

  /// SQL statements are named and declared in one place. Migrations never change.
  @Test func `SQL statements are declared in one place`() throws {
    let statement = #/"\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH)\s/#
    let homes = [
      "/Statements/", "/Migrations/",
      // Statements about sealed columns and named rows of any table, and about the row that is read before migrations.
      "/SealedColumn.swift", "/BlindIndexRotation.swift", "/KeyCheck.swift",
    ]
    for file in try SourceTree.swiftFiles(under: "Sources").values.flatMap({ $0 })
    where file.imports.contains("GRDB") || file.imports.contains("GRDBSQLite") {
      guard !homes.contains(where: { file.path.contains($0) }) else { continue }
      if let found = file.text.firstMatch(of: statement) { Issue.record("\(file.path): \(found.0)") }
    }
  }
}
