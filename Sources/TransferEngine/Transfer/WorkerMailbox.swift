internal import BlobStore
internal import Curl
internal import EngineAPI
internal import EventLoop
internal import Synchronization
internal import TransferModel

/// What is asked of a worker, until its loop takes it. From any thread.
final class WorkerMailbox: Sendable {
  enum Command: Sendable {
    case submit([TransferJob])
    /// The cookies and credentials of their session cannot be read.
    case fail([TransferJob])
    case command(TaskCommand, TaskID)
    /// There is room downstream, or more to send.
    case drained(TaskID)
    case uploadReady(TaskID)
    case stored(TaskID, BodySink.Stored)
    case opened(TaskID, RequestFiles)
    /// What follows for a transfer, if it is still there.
    case goOn(TaskID, @Sendable (Transfer) -> TransferAction)
    /// Belongs to the loop, and comes from elsewhere.
    case run(@Sendable () -> Void)
    case linked(TaskID, BlobWriter?)
    case received(BlobKey, TaskID, BodySink.Stored, any BlobStore)
    case token(TaskID, Authenticator.Side, [UInt8]?)
    case networkChanged(hasLost: Bool)
    /// The service's own certificate authorities are others now.
    case replaceRoots(TLSRoots)
    /// A session's cookies and credentials were loaded, or a client has used them.
    case noteLoaded(SessionID)
    /// The certificate authorities of a session.
    case parsed(SessionID, Result<TLSRoots, TLSRoots.Fault>)
    case forgetCredentials(SessionID, [ProtectionSpace])
    case reset(SessionID, @Sendable () -> Void)
    case flush(SessionID, @Sendable () -> Void)
    case forget(SessionID)
    case stop(@Sendable () -> Void)
  }

  private let loop: EventLoop
  private let commands = Mutex<[Command]>([])

  init(_ loop: EventLoop) { self.loop = loop }

  func post(_ command: Command) {
    let wasEmpty = commands.withLock { commands in
      commands.append(command)
      return commands.count == 1
    }
    if wasEmpty { loop.wake() }
  }

  /// All that was posted since the last time, in order.
  func take() -> [Command] {
    commands.withLock { commands in
      defer { commands.removeAll(keepingCapacity: true) }
      return commands
    }
  }
}
