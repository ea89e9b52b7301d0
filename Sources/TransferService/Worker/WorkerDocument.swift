internal import Ledger
internal import Records
internal import TransferCore
internal import TransferModel

/// A value that the service and the worker write for each other.
protocol WorkerContent: Sendable {
  /// The value may be lost, because the next one of its kind supersedes it.
  var isPassing: Bool { get }
  /// False for values that the processes never write for each other: a document with such a value is refused.
  var isExpected: Bool { get }

  /// The value as a document (`Records.Document`).
  var document: [UInt8] { get }
  init(document: [UInt8]) throws(RecordFault)
}

extension WorkerContent {
  var isPassing: Bool { false }
  var isExpected: Bool { true }
}

extension WorkerContent where Self: RecordCases {
  var document: [UInt8] { Document.write(self) }
  init(document: [UInt8]) throws(RecordFault) { self = try Document.read(Self.self, document) }
}

extension WorkState: WorkerContent {
  var document: [UInt8] { Document.write(self) }
  init(document: [UInt8]) throws(RecordFault) { self = try Document.read(Self.self, document) }
}

/// The documents that the service and the worker exchange, as the ledger's queues have them.
enum WorkerDocument {
  static func encode(_ value: some WorkerContent) -> String {
    assert(value.isExpected)
    return String(decoding: value.document, as: UTF8.self)
  }

  static func decode<Value: WorkerContent>(_ type: Value.Type, _ document: String) throws(RecordFault)
    -> Value
  {
    guard !document.isEmpty else { throw RecordFault("cannot be opened, or is empty") }
    let value = try Value(document: Array(document.utf8))
    guard value.isExpected else {
      throw RecordFault("has a value that neither the service nor the worker writes")
    }
    return value
  }
}

/// The task or session that a document is about: its first value. It is found even if the rest of the document cannot be decoded.
struct DocumentSubject: Hashable, Sendable {
  let high: UInt64
  let low: UInt64
}

extension DocumentSubject {
  init<Kind>(_ id: ID<Kind>) { self.init(high: id.high, low: id.low) }

  /// The subject as a session id. The caller must know that it is one.
  var session: SessionID { SessionID(high: high, low: low) }

  /// The subject as a task id. The caller must know that it is one.
  var task: TaskID { TaskID(high: high, low: low) }

  /// Returns nil if the document names neither a task nor a session.
  init?(ofDocument document: String) {
    let found = Document.subject(of: Array(document.utf8)) { text in
      TaskID(text).map { DocumentSubject($0) } ?? SessionID(text).map { DocumentSubject($0) }
    }
    guard let found else { return nil }
    self = found
  }
}

extension UnreadableRows {
  /// Whether a task or a session cannot be read; nil where all can.
  var isDamaged: ((DocumentSubject) -> Bool)? {
    guard !rows(of: .task).isEmpty || !rows(of: .session).isEmpty else { return nil }
    return { subject in
      self.row(.task, subject.task) != nil
        || self.row(.session, SessionID(high: subject.high, low: subject.low)) != nil
    }
  }
}
