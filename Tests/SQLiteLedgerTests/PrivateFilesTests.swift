import Crypto
import Foundation
import Ledger
import TestSupport
import Testing

@testable import SQLiteLedger

@Suite(.serialized) struct PrivateFilesTests {
  @Test func `only the owner can read the database`() async throws {
    let directory = TemporaryDirectory.make("ferry-private")
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory)
    let path = directory + "/test.db"
    for _ in 0..<2 {
      let store = try SQLiteLedger(path: path, box: GoldenSamples.box) { _ in }
      for change in GoldenSamples().changes.suffix(1) {
        try await store.write(change)
      }
      for name in ["test.db", "test.db-wal", "test.db-shm"] {
        let mode = try FileManager.default.attributesOfItem(atPath: directory + "/" + name)[.posixPermissions]
        #expect(mode as? Int == 0o600, "\(name)")
      }
      await store.close()
      // Modes that another program has set.
      for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
        try FileManager.default.setAttributes(
          [.posixPermissions: 0o644], ofItemAtPath: directory + "/" + name)
      }
    }
  }
}
