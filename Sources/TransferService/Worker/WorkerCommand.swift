internal import HTTPCookies
internal import Ledger
internal import TransferEngine
internal import TransferModel

/// What the service has for the process that carries background tasks out. A row of the store, sealed.
enum WorkerCommand: WorkerContent {
  /// The rest is in the task's own row.
  case submit(TaskID)
  case suspend(TaskID)
  case resume(TaskID)
  case cancel(TaskID, keepsPartial: Bool)
  /// - Parameter question: the number that it was asked under.
  case answer(TaskID, ChallengeAnswer, question: Int)
  case answerByDefault(TaskID, question: Int)
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
