internal import BlobStore
internal import EngineAPI
internal import Ledger
internal import TransferCore
internal import TransferModel

/// Dispatches the worker machine's commands to the engine.
struct WorkerCommandDispatcher: Sendable {
  /// A command about a whole session.
  typealias SessionCommandEntry = (command: SessionCommand, session: SessionID)

  let engine: any TransferExecuting
  let blobs: any BlobStore

  /// - Parameters:
  ///   - asides: the session commands that the commands refer to by index.
  ///   - epoch: the worker's epoch.
  func perform(_ order: WorkerEffects.EngineCommand, _ asides: [SessionCommandEntry], as epoch: Epoch) {
    switch order {
    case .sessionCommand(let number): perform(asides[number].command, asides[number].session)
    case .submit(let submission): engine.submit([TransferJob(submission, as: epoch)])
    case .command(let command, let task, let session): engine.perform(command, on: task, in: session)
    case .remove(let key): engine.onPool { [blobs] in blobs.startDeleting([key]) }
    }
  }

  /// Performs a command about a whole session.
  private func perform(_ command: SessionCommand, _ session: SessionID) {
    switch command {
    // The service has committed these changes already. They are written again, so that they follow the changes made by transfers.
    case .keepCredential(let credential, let space):
      engine.storages.whenLoaded(session) { [engine] isLoaded in
        guard isLoaded else { return }
        let isStored = SessionType.background.stores(credential)
        _ = engine.credentials.set(credential, for: space, in: session, isStored: isStored)
      }
      engine.forgetCredentials(of: session, for: [space])
    case .forgetCredentials(let spaces):
      engine.storages.whenLoaded(session) { [engine] in
        if $0 { engine.credentials.remove(spaces, in: session) }
      }
      engine.forgetCredentials(of: session, for: spaces)
    case .setCookies(let cookies):
      engine.storages.whenLoaded(session) { [engine] in
        if $0 { engine.cookies.set(cookies, in: session, tellsAll: true) }
      }
    case .removeCookies(let filter):
      engine.storages.whenLoaded(session) { [engine] in
        if $0 { engine.cookies.remove(filter, of: session) }
      }
    case .reset:
      engine.storages.whenLoaded(session) { [engine] _ in
        engine.credentials.remove(engine.credentials.entries(of: session).map(\.space), in: session)
      }
      engine.reset(session) {}
    case .flush: engine.flush(session) {}
    case .forget:
      engine.storages.forget(session)
      engine.releaseSession(session)
    }
  }
}

extension TransferJob {
  fileprivate init(_ submission: Submission, as epoch: Epoch) {
    let stamp = BlobStamp(
      epoch: InjectedFault.writesUnderNoEpoch.isPresent ? 0 : epoch, attempt: submission.number)
    self.init(submission.task, in: submission.session, writing: stamp)
    var configuration = sharedConfiguration.value
    configuration.timeoutIntervalForResource = submission.timeLeft
    // URLSession's background sessions always wait for connectivity.
    configuration.waitsForConnectivity = true
    sharedConfiguration = SharedBox(configuration)
    resumePoint = submission.resumePoint
    decisionCount = submission.questions
  }
}
