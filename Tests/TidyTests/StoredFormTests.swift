import Foundation
import Testing

/// What is written down to be read again is made in few places, and each has golden files.
@Suite struct StoredFormTests {
  /// Rooms of golden files, and the tests that hold the program to them.
  private static let rooms = [
    "answers", "cache", "directory", "resume-data", "schema", "store", "worker",
  ]

  @Test func everyRoomIsTested() throws {
    let folder = Tree.root.appendingPathComponent("Tests/Golden")
    let found = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(found.sorted() == Self.rooms)
    let tests = try Tree.swiftFiles(under: "Tests").values.flatMap { $0 }
    for room in Self.rooms {
      #expect(
        tests.contains { $0.text.contains("Golden.names(in: \"\(room)\")") },
        "no test says which files \(room) has")
    }
  }

  /// Documents are written and read by the tables of `Records`, and by nothing else.
  @Test func documentsOfValuesAreMadeInOnePlace() throws {
    let words = [
      "JSONEncoder(", "JSONDecoder(", "PropertyListEncoder(", "JSONSerialization", "NSKeyed", ": Codable",
      ", Codable",
    ]
    for file in try Tree.swiftFiles(under: "Sources").values.flatMap({ $0 }) {
      for word in words {
        #expect(!file.text.contains(word), "\(file.path): \(word); give it a form, and golden files")
      }
    }
  }

  /// A file that a later process reads has a form with golden files; those that write one are these.
  @Test func filesAreWrittenInFewPlaces() throws {
    let writers: Set = [
      // Bytes of clients and origins.
      "BlobStore/FileDraft.swift", "BlobStore/DirectoryBlobs.swift", "EventLoop/Disk.swift",
      "HTTPCache/Storage/CacheFile.swift", "HTTPCache/Storage/CacheDisk.swift",
      // What people and log collectors read.
      "EventLoop/StandardOutput.swift",
      // Forms of their own.
      "BlobStore/DurableFile.swift", "Processes/ProcessLock.swift", "ferry/Secrets.swift",
    ]
    let calls = /DurableFile\.write|CacheFile\.write|pwrite\(|Glibc\.write\(|\.write\(toFile|\.write\(to: URL/
    for file in try Tree.swiftFiles(under: "Sources").values.flatMap({ $0 }) {
      let isWriter = writers.contains { file.path.hasSuffix($0) }
      guard !isWriter, let found = file.text.firstMatch(of: calls) else { continue }
      Issue.record("\(file.path): \(found.0)")
    }
  }

  /// Who handles bodies and files knows keys: where and how they are kept is `BlobStore`'s alone.
  @Test func whoHandlesBodiesKnowsNoPath() throws {
    let rooms = [
      "TransferService/", "TransferAPI/", "EngineAPI/Bodies/", "TransferEngine/Body/",
      "TransferEngine/Transfer/", "TransferEngine/Stages/", "TransferEngine/Worker/",
      "TransferEngine/Machine/",
    ]
    let words = /\bDisk\.|\bDescriptors\.|O_RDONLY|\bpread\(|\bpwrite\(|\bfcntl\(|descriptor: Int32/
    for file in try Tree.swiftFiles(under: "Sources").values.flatMap({ $0 })
    where rooms.contains(where: { file.path.hasPrefix("Sources/" + $0) }) {
      if let found = file.text.firstMatch(of: words) { Issue.record("\(file.path): \(found.0)") }
    }
  }

  /// Statements have names, and stand where they are declared. Migrations are what they were.
  @Test func statementsStandInOnePlace() throws {
    let statement = #/"\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH)\s/#
    let homes = [
      "/Statements/", "/Migrations/",
      // Of any column that seals, of any table with names, and of the row that is there before the tables are what they should be.
      "/SealedColumn.swift", "/RowNaming.swift", "/KeyCheck.swift",
    ]
    for file in try Tree.swiftFiles(under: "Sources").values.flatMap({ $0 })
    where file.imports.contains("GRDB") || file.imports.contains("GRDBSQLite") {
      guard !homes.contains(where: { file.path.contains($0) }) else { continue }
      if let found = file.text.firstMatch(of: statement) { Issue.record("\(file.path): \(found.0)") }
    }
  }
}
