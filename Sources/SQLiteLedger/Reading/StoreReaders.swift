internal import GRDB
internal import Ledger
internal import Records
internal import TransferModel

/// The database's readers, and what they need besides.
struct StoreReaders: Sendable {
  let disk: DatabasePool
  let box: SecretBox
  let unreadable: UnreadableRows

  func reader(of kind: RecordKind) -> StrictReader {
    StrictReader(kind: kind, box: box, unreadable: unreadable)
  }

  func read<T: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> T
  ) async throws(StoreError) -> T {
    do { return try await disk.read(body) } catch { throw StoreError(error) }
  }
}
