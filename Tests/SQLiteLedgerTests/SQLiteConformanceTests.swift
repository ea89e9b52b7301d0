import Crypto
import LedgerConformance
import Records
import SQLiteLedger
import TestSupport
import Testing

@Suite(.serialized, .endsInTime) struct SQLiteConformanceTests {
  private static let sqlite = LedgerKind {
    let path = TemporaryDirectory.make("ferry-store") + "/test.db"
    let box = SecretBox(secrets: [SymmetricKey(data: [UInt8](repeating: 7, count: 32))])
    return { publish in try SQLiteLedger(path: path, box: box, published: publish) }
  }

  @Test(arguments: ConformanceCase.all) func sqliteLedgerConforms(_ test: ConformanceCase) async throws {
    try await test.run(Self.sqlite)
  }

  @Test(arguments: ConformanceCase.ephemeral)
  func ephemeralSessionsAreInMemory(_ test: ConformanceCase) async throws {
    try await test.run(Self.sqlite.withMemory)
  }
}
