internal import HTTPCookies
internal import Ledger
internal import Records
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
extension WorkerNews: RecordCases {
  static let cases: [RecordCase<Self>] =
    [
      RecordCase("changedCookies", Self.changedCookies) {
        if case .changedCookies(let session, let changes) = $0 { (session, changes) } else { nil }
      },
      RecordCase("refused", Self.refused) { if case .refused(let count) = $0 { count } else { nil } },
    ] + TransferFact.cases.map { $0.of(Self.fact) { if case .fact(let fact) = $0 { fact } else { nil } } }
}

extension StoreChange {
  /// Appends news for the service, after all earlier news.
  mutating func tell(_ news: WorkerNews) { self.news.append(WorkerDocument.encode(news)) }
}
