internal import Curl
internal import EngineAPI
internal import EventLoop
internal import TransferModel

/// The tasks that wait for a network.
final class ConnectivityWaiters {
  private let context: TransferContext
  /// Whether a retry is scheduled.
  private var isLooking = false

  /// The interval of retries, because a network beyond this machine may change without notice.
  private static let patience = Duration.seconds(15)

  init(_ context: TransferContext) { self.context = context }

  /// Returns whether the request failed for lack of a network and the task waits for one. A task that has had a connection does not wait.
  func mustWait(_ transfer: Transfer, _ error: TransferError?, _ errno: Int) -> Bool {
    guard transfer.job.configuration.waitsForConnectivity, let error,
      !transfer.connectionProgress.isPastConnect,
      transfer.received.head == nil
    else { return false }
    return ConnectionNetworks.lacksConnectivity(
      error, errno: errno, hasNetwork: context.settings.networks.hasNetwork)
  }

  /// Parks a transfer until there is a network.
  func wait(_ transfer: Transfer) {
    // The same request is sent again; no byte of it was sent before.
    transfer.discardResponse()
    transfer.network = ConnectionNetworks()
    transfer.beginFetch()
    transfer.touch()
    transfer.connectionProgress.waitForNetwork()
    transfer.machine.lifecycle.wait(for: .connectivity)
    context.leaveQueue(transfer.task)
    transfer.noteWaitingForConnectivity()
    context.reportFacts(transfer)
    guard !isLooking else { return }
    isLooking = true
    context.loop.schedule(at: .now + Self.patience) { [weak self] in
      self?.isLooking = false
      self?.networkChanged()
    }
  }

  /// Retries the transfers that wait for a network.
  func networkChanged() {
    for transfer in Array(context.transfers.values) {
      guard transfer.machine.lifecycle.stopWaiting(for: .connectivity) else { continue }
      context.perform(.proceed, transfer)
    }
  }
}
