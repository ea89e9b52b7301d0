internal import BlobStore
internal import EngineAPI
internal import Ledger
internal import TransferCore
internal import TransferModel

/// Hands what the worker's machine orders to the engine.
struct WorkerDesk: Sendable {
  /// A command that concerns no task, and whose it is.
  typealias Aside = (command: SessionCommand, session: SessionID)

  let engine: any LocalCarrier
  let blobs: any BlobStore

  /// - Parameters:
  ///   - asides: what asides stand for.
  ///   - epoch: under which the process carries tasks out.
  func perform(_ order: WorkerTurn.Order, _ asides: [Aside], as epoch: Epoch) {
    switch order {
    case .aside(let number): perform(asides[number].command, asides[number].session)
    case .submit(let submission): engine.submit([TransferJob(submission, as: epoch)])
    case .command(let command, let task, let session): engine.perform(command, on: task, in: session)
    case .remove(let key): engine.onPool { [blobs] in blobs.startDeleting([key]) }
    }
  }

  /// What concerns a session and none of its tasks.
  private func perform(_ command: SessionCommand, _ session: SessionID) {
    switch command {
    // The service has written these changes already. They are written again, so that they come after what transfers have changed.
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
      engine.forget(session)
    }
  }
}

extension TransferJob {
  fileprivate init(_ submission: Submission, as epoch: Epoch) {
    let stamp = BlobStamp(epoch: Flaw.writesUnderNoEpoch.isPresent ? 0 : epoch, attempt: submission.number)
    self.init(submission.task, in: submission.session, writing: stamp)
    var configuration = sharedConfiguration.value
    configuration.timeoutIntervalForResource = submission.timeLeft
    // URLSession's background sessions always wait.
    configuration.waitsForConnectivity = true
    sharedConfiguration = Shared(configuration)
    resumePoint = submission.resumePoint
    questions = submission.questions
  }
}
