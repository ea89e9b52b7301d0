internal import GRDB
internal import Ledger
internal import Records
internal import TransferModel

/// The database's reading connections, with the key box and the record of unreadable rows.
struct LedgerReaders: Sendable {
  let disk: DatabasePool
  let box: SecretBox
  let unreadable: UnreadableRows

  func reader(of kind: RecordKind) -> StrictReader {
    StrictReader(kind: kind, box: box, unreadable: unreadable)
  }

  func read<T: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> T
  ) async throws(LedgerError) -> T {
    do { return try await disk.read(body) } catch { throw LedgerError(error) }
  }
}
