internal import Cluster
internal import TransferCore
internal import TransferModel
internal import TransferService

extension SimulatedWorld {
  /// A service, and what a client or an operator knows of it. For one thread.
  final class ServiceNode: @unchecked Sendable {
    let process: ServiceProcess<SimulatedEngine>
    let number: Int
    var isFrozen = false
    /// Nobody sees any more that it lives, and it hears no bell.
    var isCutOff = false
    /// What has befallen it never heals.
    var isLost = false
    var isDispatching = false
    /// Requests that wait for their replies.
    var calls = 0
    /// It is to look who lives.
    var mustAttend = true
    var isAttending = false
    /// Others have committed events.
    var mustFollow = false
    /// When it was told to end; nil: it was not.
    var leavingSince: ContinuousClock.Instant?
    /// It is to look what it can give away by now.
    var mustGive = true
    var isGiving = false
    var hasGivenAll = false

    init(_ process: ServiceProcess<SimulatedEngine>, _ number: Int) {
      (self.process, self.number) = (process, number)
    }

    var address: String { Self.address(number) }
    static func address(_ number: Int) -> String { "node-\(number)" }
    /// It does what it has to do.
    var isRunning: Bool { !isFrozen && !process.isDead }
    /// It answers clients.
    var answers: Bool { isRunning && process.isServing && !isLost }
  }

  /// A worker, and what an operator knows of it. For one thread.
  final class WorkerNode: @unchecked Sendable {
    let process: WorkerProcess<SimulatedEngine>
    let number: Int
    var isFrozen = false
    /// Another was started in its place.
    var isOvertaken = false
    var isDraining = false
    var isDrained = false
    init(_ process: WorkerProcess<SimulatedEngine>, _ number: Int) {
      (self.process, self.number) = (process, number)
    }
  }

  /// A request that a client waits for.
  final class Errand: @unchecked Sendable {
    private let number: Int
    /// The service that the client has asked.
    let contact: ServiceNode
    /// The one that carries it out.
    var server: ServiceNode
    /// Called where no reply comes.
    let lost: (() -> Void)?
    /// Does what is asked for, at the service that owns the subject.
    let carryOut: @Sendable (ServiceNode, Cluster.Entry?) async throws -> Void
    var tenant = Tenant.default
    /// Nil: any service can carry it out.
    var subject: Subject?
    /// The reply of the service to which it was forwarded, if that is an error.
    var fault: (any Error)?

    /// How services name it among themselves.
    var path: String { "/errands/\(number)" }

    init(
      _ number: Int, _ contact: ServiceNode, _ lost: (() -> Void)?,
      carryOut: @escaping @Sendable (ServiceNode, Cluster.Entry?) async throws -> Void
    ) {
      (self.number, self.contact, server, self.lost) = (number, contact, contact, lost)
      self.carryOut = carryOut
    }
  }
}
