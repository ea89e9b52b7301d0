import LedgerConformance
import MemoryLedger
import TestSupport
import Testing

extension LedgerKind {
  static let memory = LedgerKind {
    let database = MemoryDatabase()
    return { publish in MemoryLedger(on: database, .atOnce, published: publish) }
  }
}

@Suite(.serialized, .endsInTime) struct MemoryConformanceTests {
  @Test(arguments: ConformanceCase.all) func memoryLedgerConforms(_ test: ConformanceCase) async throws {
    try await test.run(.memory)
  }
}
