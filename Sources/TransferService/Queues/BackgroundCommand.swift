internal import HTTPCookies
internal import Ledger
internal import Records
internal import TransferCore
internal import TransferModel

/// A command from the service to the worker, stored as a sealed row in the ledger.
enum BackgroundCommand: QueueDocument {
  /// Starts a task. The task's row has its request.
  case submit(TaskID)
  case task(TaskID, TaskCommand)
  case session(SessionCommand)

  /// Whether a service writes such a command. Background tasks receive only answers to challenges, and default answers.
  var isValidForQueue: Bool {
    guard case .task(_, .answer(let answer, _)) = self else { return true }
    switch answer {
    case .challenge, .byDefault: return true
    default: return false
    }
  }

  init(_ order: TransferCommand) {
    switch order {
    case .submit(let task): self = .submit(task.id)
    case .command(let command, let task): self = .task(task, command)
    case .releaseSession: self = .session(.forget)
    }
  }

  func stored(for session: SessionID) -> StoredCommand {
    StoredCommand(session: session, document: QueueDocumentCoding.encode(self))
  }
}

/// A command that concerns a whole session.
enum SessionCommand: Sendable {
  case keepCredential(Credential, ProtectionSpace)
  case forgetCredentials([ProtectionSpace])
  case setCookies([Cookie])
  case removeCookies(CookieFilter)
  /// URLSession.reset()
  case reset
  /// URLSession.flush()
  case flush
  /// Releases an invalidated session.
  case forget
}

extension BackgroundCommand: RecordCases {
  static let cases: [RecordCase<Self>] = [
    RecordCase("submit", Self.submit) { if case .submit(let task) = $0 { task } else { nil } },
    RecordCase("task", Self.task) {
      if case .task(let task, let command) = $0 { (task, command) } else { nil }
    },
    RecordCase("session", Self.session) { if case .session(let command) = $0 { command } else { nil } },
  ]
}

extension SessionCommand: RecordCases {
  static let cases: [RecordCase<Self>] = [
    RecordCase("keepCredential", Self.keepCredential) {
      if case .keepCredential(let credential, let space) = $0 { (credential, space) } else { nil }
    },
    RecordCase("forgetCredentials", Self.forgetCredentials) {
      if case .forgetCredentials(let spaces) = $0 { spaces } else { nil }
    },
    RecordCase("setCookies", Self.setCookies) {
      if case .setCookies(let cookies) = $0 { cookies } else { nil }
    },
    RecordCase("removeCookies", Self.removeCookies) {
      if case .removeCookies(let filter) = $0 { filter } else { nil }
    },
    RecordCase("reset", .reset) { if case .reset = $0 { true } else { false } },
    RecordCase("flush", .flush) { if case .flush = $0 { true } else { false } },
    RecordCase("forget", .forget) { if case .forget = $0 { true } else { false } },
  ]
}

extension LedgerChange {
  /// Sends a command to the worker. It is committed together with its cause.
  mutating func command(_ command: SessionCommand, of session: SessionID) {
    commands.append(BackgroundCommand.session(command).stored(for: session))
  }
}
