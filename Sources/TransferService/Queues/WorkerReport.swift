internal import HTTPCookies
internal import Ledger
internal import Records
internal import TransferModel

/// A report of the worker to the service, stored as a sealed row of the ledger.
enum WorkerReport: QueueDocument {
  case fact(TransferFact)
  case changedCookies(SessionID, [CookieJar.Change])
  /// The number of documents that the worker cannot read. Their tasks wait until a worker starts that can.
  case refused(count: Int)

  /// Whether a worker writes such reports. Background tasks need no decisions except challenges, and cache nothing. The worker keeps
  /// resume points itself, and reports a download's response together with the download's end.
  var isValidForQueue: Bool {
    switch self {
    case .fact(.asked(_, _, .challenge, _)): true
    case .fact(.asked), .fact(.keptPartial), .fact(.accepted), .fact(.willCache): false
    case .fact, .changedCookies, .refused: true
    }
  }

  /// Progress may be lost, because the next progress fact supersedes it.
  var isSupersedable: Bool { if case .fact(.progress) = self { true } else { false } }
}

/// A fact is encoded without an enclosing object.
extension WorkerReport: RecordCases {
  static let cases: [RecordCase<Self>] =
    [
      RecordCase("changedCookies", Self.changedCookies) {
        if case .changedCookies(let session, let changes) = $0 { (session, changes) } else { nil }
      },
      RecordCase("refused", Self.refused) { if case .refused(let count) = $0 { count } else { nil } },
    ] + TransferFact.cases.map { $0.of(Self.fact) { if case .fact(let fact) = $0 { fact } else { nil } } }
}

extension LedgerChange {
  /// Appends reports for the service, after all earlier reports.
  mutating func report(_ news: WorkerReport) { self.workerReports.append(QueueDocumentCoding.encode(news)) }
}
