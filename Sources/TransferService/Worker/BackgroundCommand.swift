internal import HTTPCookies
internal import Ledger
internal import TransferCore
internal import TransferModel

/// A command of the service for the worker: a sealed row of the ledger.
enum BackgroundCommand: WorkerContent {
  /// Starts a task; its own row has the rest.
  case submit(TaskID)
  case task(TaskID, TaskCommand)
  case session(SessionCommand)

  /// Tasks of background sessions only ask about challenges.
  var isExpected: Bool {
    guard case .task(_, .answer(let answer, _)) = self else { return true }
    switch answer {
    case .challenge, .byDefault: return true
    default: return false
    }
  }

  /// nil for orders that a deliberate fault loses.
  init?(_ order: Order) {
    switch order {
    case .submit where Flaw.losesHandovers.isPresent: return nil
    case .command(.resume, _) where Flaw.losesResumes.isPresent: return nil
    case .submit(let task): self = .submit(task.id)
    case .command(let command, let task): self = .task(task, command)
    case .forgetSession: self = .session(.forget)
    }
  }

  func stored(for session: SessionID) -> StoredCommand {
    StoredCommand(session: session, document: WorkerDocument.encode(self))
  }
}

/// A command that concerns a whole session.
enum SessionCommand: Codable, Sendable {
  case keepCredential(Credential, ProtectionSpace)
  case forgetCredentials([ProtectionSpace])
  case setCookies([Cookie])
  case removeCookies(CookieFilter)
  /// URLSession.reset()
  case reset
  /// URLSession.flush()
  case flush
  /// The session has ended.
  case forget
}

extension StoreChange {
  /// Sends a command to the worker. It is committed together with its cause.
  mutating func command(_ command: SessionCommand, of session: SessionID) {
    commands.append(BackgroundCommand.session(command).stored(for: session))
  }
}
