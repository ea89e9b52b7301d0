internal import Cluster
internal import TransferCore
internal import TransferModel
internal import TransferService

extension SimulatedWorld {
  /// A service with its state as clients and operators see it. For one thread.
  final class ServiceNode: @unchecked Sendable {
    let process: ServiceProcess<SimulatedEngine>
    let number: Int
    var isFrozen = false
    /// Whether the node is cut off: it cannot renew its lease, and receives no wakeup.
    var isCutOff = false
    /// Whether the node never recovers.
    var isLost = false
    /// The number of requests that wait for replies.
    var calls = 0
    /// Whether the node has to check its peers.
    var mustAttend = true
    var isAttending = false
    /// Whether other services have committed events that it has not read.
    var mustFollow = false
    /// The time of the order to stop; `nil` if there was none.
    var leavingSince: ContinuousClock.Instant?
    /// Whether the node has to check again which shards it can hand over.
    var mustGive = true
    var isGiving = false
    var hasGivenAll = false

    init(_ process: ServiceProcess<SimulatedEngine>, _ number: Int) {
      (self.process, self.number) = (process, number)
    }

    var address: String { Self.address(number) }
    static func address(_ number: Int) -> String { "node-\(number)" }
    /// Whether the process does its work.
    var isRunning: Bool { !isFrozen && !process.isDead }
    /// Whether the node answers clients.
    var answers: Bool { isRunning && process.isServing && !isLost }
  }

  /// A worker with its state as operators see it. For one thread.
  final class WorkerNode: @unchecked Sendable {
    let process: WorkerProcess<SimulatedEngine>
    let number: Int
    var isFrozen = false
    /// Whether another worker was started in its place.
    var isOvertaken = false
    var isDraining = false
    var isDrained = false
    init(_ process: WorkerProcess<SimulatedEngine>, _ number: Int) {
      (self.process, self.number) = (process, number)
    }
  }

  /// A client's request that waits for its reply.
  final class ClientCall: @unchecked Sendable {
    private let number: Int
    /// The service that the client has called.
    let contact: ServiceNode
    /// The service that executes the request.
    var server: ServiceNode
    /// Called if no reply will come.
    let lost: (() -> Void)?
    /// Executes the request at the service that owns its subject.
    let carryOut: @Sendable (ServiceNode, Cluster.LocalRequest?) async throws -> Void
    var tenant = Tenant.default
    /// `nil` if any service can execute the request.
    var subject: RequestSubject?
    /// The reply of the service to which the request was forwarded, if that reply is an error.
    var fault: (any Error)?

    /// The request's path between services.
    var path: String { "/errands/\(number)" }

    init(
      _ number: Int, _ contact: ServiceNode, _ lost: (() -> Void)?,
      carryOut: @escaping @Sendable (ServiceNode, Cluster.LocalRequest?) async throws -> Void
    ) {
      (self.number, self.contact, server, self.lost) = (number, contact, contact, lost)
      self.carryOut = carryOut
    }
  }
}
