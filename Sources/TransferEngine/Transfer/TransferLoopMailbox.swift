internal import BlobStore
internal import Curl
internal import EngineAPI
internal import EventLoop
internal import Synchronization
internal import TransferModel

/// The commands that wait for a transfer loop. May be used on any thread.
final class TransferLoopMailbox: Sendable {
  enum Command: Sendable {
    case submit([TransferJob])
    /// The session's cookies and credentials cannot be read.
    case fail([TransferJob])
    case command(TaskCommand, TaskID)
    /// There is room downstream. `uploadReady`: there is more to send.
    case drained(TaskID)
    case uploadReady(TaskID)
    case stored(TaskID, BodySink.Stored)
    case opened(TaskID, RequestFiles)
    /// The next action of a transfer, if the transfer still exists.
    case resume(TaskID, @Sendable (Transfer) -> TransferAction)
    /// A closure to run on the loop.
    case run(@Sendable () -> Void)
    case linked(TaskID, BlobWriter?)
    case received(BlobKey, TaskID, BodySink.Stored, any BlobStore)
    case token(TaskID, Authenticator.Side, [UInt8]?)
    case networkChanged(hasLost: Bool)
    /// The service's certificate authorities were replaced.
    case replaceRoots(CertificateAuthoritySet)
    /// A session's cookies and credentials were loaded, or used by a client.
    case noteLoaded(SessionID)
    /// A session's certificate authorities were parsed.
    case parsed(SessionID, Result<CertificateAuthoritySet, CertificateAuthoritySet.Fault>)
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

  /// Returns all commands since the last call, in order.
  func drain() -> [Command] {
    commands.withLock { commands in
      defer { commands.removeAll(keepingCapacity: true) }
      return commands
    }
  }
}
