internal import Curl
internal import EventLoop
internal import TransferModel

/// Tasks that wait for a network.
extension TransferWorker {
  /// In case the networks change where nobody on this machine sees it.
  private static let patience = Duration.seconds(15)

  /// Takes a transfer off the wire until there is a network.
  func waitForConnectivity(_ transfer: Transfer) {
    transfer.prepareAgain()
    transfer.isTryingAgain = true
    transfer.hold = .connectivity
    transfer.stage = .parked
    leaveQueue(transfer.task)
    tellOfWaiting(transfer)
    guard !isLookingForNetwork else { return }
    isLookingForNetwork = true
    loop.schedule(at: .now + Self.patience) { [weak self] in
      self?.isLookingForNetwork = false
      self?.networkChanged()
    }
  }

  func tellOfWaiting(_ transfer: Transfer) {
    transfer.facts.append(.waitsForConnectivity(transfer.task, at: settings.now()))
    facts += transfer.takeFacts()
    loop.wake()
  }

  /// Whoever waits for a network tries again.
  func networkChanged() {
    for transfer in Array(transfers.values) {
      guard case .connectivity = transfer.hold else { continue }
      transfer.hold = nil
      proceed(transfer)
    }
  }
}
