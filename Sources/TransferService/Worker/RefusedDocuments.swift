internal import Ledger
internal import TransferModel

/// The documents of a queue that this version cannot read. They stay in the store, and what comes after them about the same task,
/// or the same session, stays behind them: it must not overtake. The next process reads all of them again. A plain value.
struct RefusedDocuments: Sendable {
  /// A row of a queue.
  struct Row {
    let number: Int64
    let document: String
    /// Whom it is about where it does not say so itself.
    var session: SessionID?
  }
  /// What becomes of some rows.
  struct Reading<Value> {
    var values: [(row: Row, value: Value)] = []
    /// The numbers of the rows that may go from the store.
    var taken: [ClosedRange<Int64>] = []
    /// Rows that stay, and why the first of them does.
    var kept = 0
    var reason: String?
  }

  /// Whose documents wait, and behind which row.
  private var waiting: [DocumentSubject: Int64] = [:]
  private var rows: [Int64: DocumentSubject?] = [:]
  private var others = 0

  /// How many stay in the store.
  var count: Int { rows.count + others }

  /// Something else about it cannot be read: what comes has to wait.
  mutating func refuse(_ subject: DocumentSubject) {
    if waiting.updateValue(0, forKey: subject) != 0 { others += 1 }
  }

  /// - Parameters:
  ///   - found: in their order. Rows that were read before come to the same.
  ///   - isDamaged: whether what the store has of somebody cannot be read; nil where that is true of nobody.
  mutating func read<Value: WorkerContent>(
    _ type: Value.Type, _ found: [Row], where isDamaged: ((DocumentSubject) -> Bool)? = nil
  ) -> Reading<Value> {
    if let isDamaged {
      for subject in found.compactMap(Self.subject) where isDamaged(subject) { refuse(subject) }
    }
    var reading = Reading<Value>()
    var taken: ClosedRange<Int64>?
    for row in found {
      switch read(type, row) {
      case .success(let value):
        if let value { reading.values.append((row, value)) }
        taken = (taken?.lowerBound ?? row.number)...row.number
      case .failure(let refusal):
        if let taken { reading.taken.append(taken) }
        taken = nil
        reading.kept += 1
        reading.reason = reading.reason ?? "row \(row.number): \(refusal)"
      }
    }
    if let taken { reading.taken.append(taken) }
    return reading
  }

  /// nil where it is of no use any more.
  private mutating func read<Value: WorkerContent>(
    _ type: Value.Type, _ row: Row
  ) -> Result<Value?, WorkerDocument.Refusal> {
    let refusal: WorkerDocument.Refusal
    do throws(WorkerDocument.Refusal) {
      let value = try WorkerDocument.decode(type, row.document)
      guard !waiting.isEmpty, let subject = Self.subject(of: row), let first = waiting[subject],
        row.number > first
      else { return .success(value) }
      guard !value.isPassing else { return .success(nil) }
      refusal = .init(description: "it comes after one that is not understood")
    } catch {
      refusal = error
    }
    let subject = Self.subject(of: row)
    if let subject { waiting[subject] = min(waiting[subject] ?? row.number, row.number) }
    rows[row.number] = .some(subject)
    return .failure(refusal)
  }

  private static func subject(of row: Row) -> DocumentSubject? {
    DocumentSubject(ofDocument: row.document) ?? row.session.map { DocumentSubject($0) }
  }

  /// The rows that stay, with whom they are about.
  var subjects: [(row: Int64, subject: DocumentSubject)] {
    rows.compactMap { row, subject in subject.map { (row, $0) } }
  }

  /// They are gone from the store, with the session that they were about.
  mutating func forget(_ numbers: [Int64]) {
    for number in numbers { rows[number] = nil }
  }
}
