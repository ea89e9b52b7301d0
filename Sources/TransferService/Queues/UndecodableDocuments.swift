internal import Ledger
internal import Records
internal import TransferModel

/// The documents of a queue that this version cannot read, as a plain value. They stay in the ledger. Later documents about the
/// same task or session wait, to keep the order; later progress is discarded. The next process to start reads all of them again.
struct UndecodableDocuments: Sendable {
  /// A row of a queue.
  struct Row {
    let number: Int64
    let document: String
    /// The session of the row, if its document names neither a task nor a session.
    var session: SessionID?
  }
  /// A row, and the result of decoding its document.
  struct Decoded<Value: QueueDocument> {
    let row: Row
    let value: Result<Value, RecordFault>

    init(_ row: Row) {
      self.row = row
      value = Result { () throws(RecordFault) in
        try QueueDocumentCoding.decode(Value.self, row.document)
      }
    }
  }
  /// The outcome of reading some rows.
  struct Reading<Value> {
    var values: [(row: Row, value: Value)] = []
    /// The numbers of the rows that may be deleted.
    var taken: [ClosedRange<Int64>] = []
    /// The number of rows that stay, and the first one's reason.
    var kept = 0
    var reason: String?
  }

  /// The number of the first unreadable row of each task or session. Later rows about it wait.
  private var waiting: [DocumentSubject: Int64] = [:]
  private var rows: [Int64: DocumentSubject?] = [:]
  private var others = 0

  /// The number of rows that stay, plus the tasks and sessions with other unreadable rows.
  var count: Int { rows.count + others }

  /// Makes all documents about this task or session wait, because another of its rows cannot be read.
  mutating func refuse(_ subject: DocumentSubject) {
    if waiting.updateValue(0, forKey: subject) != 0 { others += 1 }
  }

  /// - Parameters:
  ///   - found: rows in ascending order. Reading a row again gives the same result.
  ///   - isDamaged: whether the ledger's row of a task or session is unreadable, or `nil` if all rows are readable.
  mutating func read<Value: QueueDocument>(
    _ found: [Decoded<Value>], where isDamaged: ((DocumentSubject) -> Bool)? = nil
  ) -> Reading<Value> {
    if let isDamaged {
      for subject in found.compactMap({ Self.subject(of: $0.row) }) where isDamaged(subject) {
        refuse(subject)
      }
    }
    var reading = Reading<Value>()
    var taken: ClosedRange<Int64>?
    for decoded in found {
      let row = decoded.row
      switch read(decoded) {
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

  /// - Returns: `nil` for progress after a refused document, which is discarded.
  private mutating func read<Value: QueueDocument>(
    _ decoded: Decoded<Value>
  ) -> Result<Value?, RecordFault> {
    let row = decoded.row
    let refusal: RecordFault
    switch decoded.value {
    case .success(let value):
      guard !waiting.isEmpty, let subject = Self.subject(of: row), let first = waiting[subject],
        row.number > first
      else { return .success(value) }
      guard !value.isSupersedable else { return .success(nil) }
      refusal = RecordFault("follows a document that cannot be read")
    case .failure(let reason): refusal = reason
    }
    let subject = Self.subject(of: row)
    if let subject { waiting[subject] = min(waiting[subject] ?? row.number, row.number) }
    rows[row.number] = .some(subject)
    return .failure(refusal)
  }

  private static func subject(of row: Row) -> DocumentSubject? {
    DocumentSubject(ofDocument: row.document) ?? row.session.map { DocumentSubject($0) }
  }

  /// The rows that stay and whose task or session is known.
  var subjects: [(row: Int64, subject: DocumentSubject)] {
    rows.compactMap { row, subject in subject.map { (row, $0) } }
  }

  /// Stops counting rows that were deleted together with their session.
  mutating func forget(_ numbers: [Int64]) {
    for number in numbers { rows[number] = nil }
  }
}
