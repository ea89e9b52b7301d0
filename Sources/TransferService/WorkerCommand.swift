internal import FoundationEssentials
internal import HTTPCookies
internal import TransferEngine
internal import TransferModel
internal import TransferStore

/// What the service has for the process that carries background tasks out. A row of the store, sealed.
enum WorkerCommand: Codable, Sendable {
  /// The rest is in the task's own row.
  case submit(TaskID)
  case suspend(TaskID)
  case resume(TaskID)
  case cancel(TaskID, keepsPartial: Bool)
  case answer(TaskID, ChallengeAnswer)
  case answerByDefault(TaskID)
  case setPriority(TaskID, Double)
  case setLimit(TaskID, Int?)
  case setBeginDate(TaskID, Timestamp?)
  case keepCredential(Credential, ProtectionSpace)
  case forgetCredentials([ProtectionSpace])
  case setCookies([Cookie])
  case removeCookies(CookieFilter)
  case reset
  case flush
  case forget

  func stored(for session: SessionID) -> StoredCommand {
    StoredCommand(session: session, document: WorkerDocument.encode(self))
  }
}

/// What the two processes write for each other: JSON of values that encode themselves.
enum WorkerDocument {
  static func encode(_ value: some Encodable) -> String {
    guard let data = try? JSONEncoder().encode(value) else {
      preconditionFailure("a value that is no JSON: \(value)")
    }
    return String(decoding: data, as: UTF8.self)
  }

  /// nil where it was written by another version, and is not understood.
  static func decode<Value: Decodable>(_ type: Value.Type, _ document: String) -> Value? {
    try? JSONDecoder().decode(type, from: Data(document.utf8))
  }
}
