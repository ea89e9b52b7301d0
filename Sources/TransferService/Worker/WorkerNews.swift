internal import HTTPCookies
internal import Ledger
internal import TransferModel

/// News of the worker for the service: a sealed row of the ledger.
enum WorkerNews: WorkerContent {
  case fact(TransferFact)
  case changedCookies(SessionID, [CookieJar.Change])
  /// The number of documents that the worker cannot read. Their tasks wait until a worker starts that can.
  case refused(count: Int)

  /// Background tasks need no decisions but challenges, and cache nothing. The worker keeps resume points itself, and reports a
  /// download's response with its end.
  var isExpected: Bool {
    switch self {
    case .fact(.asked(_, _, .challenge, _)): true
    case .fact(.asked), .fact(.keeps), .fact(.accepted), .fact(.willCache): false
    case .fact, .changedCookies, .refused: true
    }
  }

  /// Progress may be lost, because the next progress fact supersedes it.
  var isPassing: Bool { if case .fact(.progress) = self { true } else { false } }
}

/// A fact is stored as it is, without another object around it.
extension WorkerNews {
  private enum Other: Codable {
    case changedCookies(SessionID, [CookieJar.Change])
    case refused(count: Int)

    enum CodingKeys: CodingKey { case changedCookies, refused }
  }

  init(from decoder: any Decoder) throws {
    guard try !decoder.container(keyedBy: Other.CodingKeys.self).allKeys.isEmpty else {
      self = .fact(try TransferFact(from: decoder))
      return
    }
    switch try Other(from: decoder) {
    case .changedCookies(let session, let changes): self = .changedCookies(session, changes)
    case .refused(let count): self = .refused(count: count)
    }
  }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .fact(let fact): try fact.encode(to: encoder)
    case .changedCookies(let session, let changes):
      try Other.changedCookies(session, changes).encode(to: encoder)
    case .refused(let count): try Other.refused(count: count).encode(to: encoder)
    }
  }
}

extension StoreChange {
  /// Appends news for the service, after all earlier news.
  mutating func tell(_ news: WorkerNews) { self.news.append(WorkerDocument.encode(news)) }
}
