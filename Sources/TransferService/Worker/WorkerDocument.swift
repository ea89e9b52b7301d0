internal import FoundationEssentials
internal import Ledger
internal import TransferCore
internal import TransferModel

/// A value that the service and the worker write for each other.
protocol WorkerContent: Codable, Sendable {
  /// The value may be lost, because the next one of its kind supersedes it.
  var isPassing: Bool { get }
  /// False for values that the processes never write for each other: a document with such a value is refused.
  var isExpected: Bool { get }
}

extension WorkerContent {
  var isPassing: Bool { false }
  var isExpected: Bool { true }
}

extension WorkState: WorkerContent {}

/// The JSON documents that the service and the worker exchange. Each holds one value, and the format's version as an extra member.
///
/// An additional optional member or kind needs no new version. Readers ignore unknown members and refuse documents of an unknown kind.
/// A required member needs a new version. Raise `version`, too, if an older reader would misinterpret a document. An unknown version is
/// refused.
enum WorkerDocument {
  static let version = 1

  /// Why a document is not read.
  struct Refusal: Error, Equatable, CustomStringConvertible {
    let description: String
  }

  static func encode(_ value: some WorkerContent) -> String {
    assert(value.isExpected)
    let encoder = JSONEncoder()
    // The same value is the same text, whatever the seed of this process's dictionaries.
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(Versioned(content: value, version: version)) else {
      preconditionFailure("a value that is no JSON")
    }
    return String(decoding: data, as: UTF8.self)
  }

  static func decode<Value: WorkerContent>(_ type: Value.Type, _ document: String) throws(Refusal) -> Value {
    guard !document.isEmpty else { throw Refusal(description: "it cannot be opened, or is empty") }
    do {
      let value = try JSONDecoder().decode(Versioned<Value>.self, from: Data(document.utf8)).content
      guard value.isExpected else {
        throw Refusal(description: "neither the service nor the worker writes such a value")
      }
      return value
    } catch let refusal as Refusal {
      throw refusal
    } catch {
      throw Refusal(description: Self.reason(error))
    }
  }

  /// Names the member that could not be decoded. It never includes the document's contents, which are sealed.
  private static func reason(_ error: any Error) -> String {
    let context: DecodingError.Context
    switch error {
    case DecodingError.keyNotFound(let key, let found):
      return "\(place(found.codingPath)) has no \(key.stringValue)"
    case DecodingError.typeMismatch(_, let found), DecodingError.valueNotFound(_, let found),
      DecodingError.dataCorrupted(let found):
      context = found
    default: return "not understood"
    }
    return "\(place(context.codingPath)) is not understood"
  }

  private static func place(_ path: [any CodingKey]) -> String {
    path.isEmpty ? "the document" : path.map(\.stringValue).joined(separator: ".")
  }
}

/// A document's value with its version as one more member.
private struct Versioned<Content: WorkerContent>: Codable {
  private enum Key: String, CodingKey { case version }

  let content: Content
  let version: Int

  init(content: Content, version: Int) {
    self.content = content
    self.version = version
  }

  init(from decoder: any Decoder) throws {
    version = try decoder.container(keyedBy: Key.self).decode(Int.self, forKey: .version)
    guard version == WorkerDocument.version else {
      throw WorkerDocument.Refusal(
        description: "it has version \(version), and only \(WorkerDocument.version) is known")
    }
    content = try Content(from: decoder)
  }

  func encode(to encoder: any Encoder) throws {
    try content.encode(to: encoder)
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(version, forKey: .version)
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
    guard let found = try? JSONDecoder().decode(Found.self, from: Data(document.utf8)) else { return nil }
    self = found.subject
  }

  private struct Found: Decodable {
    private struct Key: CodingKey {
      let stringValue: String
      var intValue: Int? { nil }
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
    let subject: DocumentSubject

    init(from decoder: any Decoder) throws {
      let kinds = try decoder.container(keyedBy: Key.self)
      for kind in kinds.allKeys {
        guard let members = try? kinds.nestedContainer(keyedBy: Key.self, forKey: kind),
          let id = try? members.decode(TaskID.self, forKey: Key(stringValue: "_0"))
        else { continue }
        subject = DocumentSubject(id)
        return
      }
      throw WorkerDocument.Refusal(description: "it names nobody")
    }
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
