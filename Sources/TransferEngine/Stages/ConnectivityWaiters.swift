internal import Curl
internal import EngineAPI
internal import EventLoop
internal import TransferModel

/// Tasks that wait for a network.
final class ConnectivityWaiters {
  private let context: TransferContext
  /// A retry is scheduled.
  private var isLooking = false

  /// In case the networks change where nobody on this machine sees it.
  private static let patience = Duration.seconds(15)

  init(_ context: TransferContext) { self.context = context }

  /// Whether it is the network that fails, and the task would rather wait for it. What has had a connection does not wait.
  func mustWait(_ transfer: Transfer, _ error: TransferError?, _ errno: Int) -> Bool {
    guard transfer.job.configuration.waitsForConnectivity, let error, !transfer.contact.isPastConnect,
      transfer.answer.head == nil
    else { return false }
    return NetworkTrial.lacksConnectivity(
      error, errno: errno, hasNetwork: context.settings.networks.hasNetwork)
  }

  /// Parks a transfer until there is a network.
  func wait(_ transfer: Transfer) {
    // The same request again; nothing of it was sent.
    transfer.forgetAnswer()
    transfer.network = NetworkTrial()
    transfer.beginFetch()
    transfer.touch()
    transfer.contact.waitForNetwork()
    transfer.machine.course.wait(for: .connectivity)
    context.leaveQueue(transfer.task)
    transfer.noteWaitingForConnectivity()
    context.tell(transfer)
    guard !isLooking else { return }
    isLooking = true
    context.loop.schedule(at: .now + Self.patience) { [weak self] in
      self?.isLooking = false
      self?.networkChanged()
    }
  }

  /// Whoever waits for a network tries again.
  func networkChanged() {
    for transfer in Array(context.transfers.values) {
      guard transfer.machine.course.stopWaiting(for: .connectivity) else { continue }
      context.perform(.proceed, transfer)
    }
  }
}
