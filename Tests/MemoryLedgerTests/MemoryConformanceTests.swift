import LedgerConformance
import SimulatedStores
import TestSupport
import Testing

extension LedgerKind {
  static let simulated = LedgerKind {
    let database = SimulatedDatabase()
    return { publish in SimulatedLedger(on: database, .atOnce, published: publish) }
  }
}

@Suite(.serialized, .endsInTime) struct MemoryConformanceTests {
  @Test(arguments: ConformanceCase.all) func simulatedLedgerConforms(_ test: ConformanceCase) async throws {
    try await test.run(.simulated)
  }

  @Test(arguments: ConformanceCase.all) func compositeLedgerConforms(_ test: ConformanceCase) async throws {
    try await test.run(.simulated.withMemory)
  }

  @Test(arguments: ConformanceCase.ephemeral)
  func compositeLedgerKeepsEphemeralSessionsInMemory(_ test: ConformanceCase) async throws {
    try await test.run(.simulated.withMemory)
  }
}
