internal import Ledger
internal import Records
internal import TransferCore
internal import TransferModel

/// A value that the service and the worker write for each other.
protocol QueueDocument: Sendable {
  /// Whether the value may be lost, because the next one of its kind supersedes it.
  var isSupersedable: Bool { get }
  /// Whether the service or the worker writes such a value. A document with an unexpected value is refused.
  var isValidForQueue: Bool { get }

  /// The value as a document (`Records.Document`).
  var document: [UInt8] { get }
  init(document: [UInt8]) throws(RecordFault)
}

extension QueueDocument {
  var isSupersedable: Bool { false }
  var isValidForQueue: Bool { true }
}

extension QueueDocument where Self: RecordCases {
  var document: [UInt8] { Document.write(self) }
  init(document: [UInt8]) throws(RecordFault) { self = try Document.read(Self.self, document) }
}

extension WorkState: QueueDocument {
  var document: [UInt8] { Document.write(self) }
  init(document: [UInt8]) throws(RecordFault) { self = try Document.read(Self.self, document) }
}

/// The documents that the service and the worker exchange, as the ledger's queues have them.
enum QueueDocumentCoding {
  static func encode(_ value: some QueueDocument) -> String {
    assert(value.isValidForQueue)
    return String(decoding: value.document, as: UTF8.self)
  }

  static func decode<Value: QueueDocument>(_ type: Value.Type, _ document: String) throws(RecordFault)
    -> Value
  {
    guard !document.isEmpty else { throw RecordFault("cannot be opened, or is empty") }
    let value = try Value(document: Array(document.utf8))
    guard value.isValidForQueue else {
      throw RecordFault("has a value that neither the service nor the worker writes")
    }
    return value
  }
}

/// The task or session that a document is about. It is the document's first value, so it is found even if the rest cannot be
/// decoded.
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

  /// - Returns: `nil` if the document names neither a task nor a session.
  init?(ofDocument document: String) {
    let found = Document.subject(of: Array(document.utf8)) { text in
      TaskID(text).map { DocumentSubject($0) } ?? SessionID(text).map { DocumentSubject($0) }
    }
    guard let found else { return nil }
    self = found
  }
}

extension UnreadableRows {
  /// Returns whether a task's or session's row is unreadable. `nil` if all rows are readable.
  var isDamaged: ((DocumentSubject) -> Bool)? {
    guard !rows(of: .task).isEmpty || !rows(of: .session).isEmpty else { return nil }
    return { subject in
      self.row(.task, subject.task) != nil
        || self.row(.session, SessionID(high: subject.high, low: subject.low)) != nil
    }
  }
}
