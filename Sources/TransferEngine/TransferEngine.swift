package import Curl
package import EventLoop
internal import Synchronization
package import TransferModel

/// Carries tasks out: a few workers, each on a loop of its own, with the sessions spread over them.
package final class TransferEngine: Sendable {
  package struct Settings: Sendable {
    package var egress: EgressPolicy
    package var bodies: BodyDirectory
    package var files: FileDirectory
    /// Threads that write bodies to the disk.
    package var pool: WorkerPool
    /// Bytes up to which a body stays in memory and goes into the store.
    package var smallBodyLimit = 32 * 1024
    /// Bytes of the largest body.
    package var maximumBodySize: Int64 = 1 << 40
    /// Transfers at once, of each worker.
    package var maximumActive = 4096
    package var maximumIdleHandles = 256
    package var userAgent = "Ferry"
    /// nil: the system's.
    package var certificateAuthorityFile: String?
    /// What sessions remember.
    package var credentials = CredentialStorage()
    /// Credentials that may be refused before a task gives up.
    package var maximumAuthenticationAttempts = 10
    /// Threads that wait for a Kerberos realm.
    package var tokenPool = WorkerPool(name: "ferry-gssapi", threads: 2)
    package var now: @Sendable () -> Timestamp = { Timestamp(microseconds: WallClock.microseconds()) }

    package init(egress: EgressPolicy, bodies: BodyDirectory, files: FileDirectory, pool: WorkerPool) {
      self.egress = egress
      self.bodies = bodies
      self.files = files
      self.pool = pool
    }
  }

  /// What sessions remember; what is permanent of it is the caller's to keep.
  package let credentials: CredentialStorage
  /// The service's own authorities; sessions may add theirs.
  package let roots: TLSRoots
  private let workers: [TransferWorker]
  private let loops: [EventLoop]

  /// - Parameter deliver: hears batches of facts, each worker's in order, on the worker's thread. Must not block.
  package init(
    workers count: Int, settings: Settings, deliver: @escaping @Sendable ([TransferFact]) -> Void
  ) throws(TransferError) {
    credentials = settings.credentials
    let roots = try SessionTrust.roots(file: settings.certificateAuthorityFile)
    self.roots = roots
    loops = (0..<count).map { EventLoop(name: "ferry-xfer-\($0)") }
    workers = loops.map { TransferWorker(loop: $0, settings: settings, roots: roots, deliver: deliver) }
    for (worker, loop) in zip(workers, loops) {
      worker.attach()
      loop.start()
    }
  }

  private func worker(of session: SessionID) -> TransferWorker {
    workers[Int(session.low % UInt64(workers.count))]
  }

  package func submit(_ jobs: [TransferJob]) {
    guard let first = jobs.first else { return }
    if jobs.allSatisfy({ $0.session == first.session }) {
      worker(of: first.session).post(.submit(jobs))
    } else {
      for job in jobs { worker(of: job.session).post(.submit([job])) }
    }
  }

  package func suspend(_ task: TaskID, in session: SessionID) { worker(of: session).post(.suspend(task)) }
  package func resume(_ task: TaskID, in session: SessionID) { worker(of: session).post(.resume(task)) }

  /// - Parameter keepsPartial: what a download has got is kept for resume data, where it can go on.
  package func cancel(_ task: TaskID, in session: SessionID, keepsPartial: Bool) {
    worker(of: session).post(.cancel(task, keepsPartial: keepsPartial))
  }

  /// Answers what the task asked last; an answer to another question does nothing.
  package func answer(_ task: TaskID, in session: SessionID, _ answer: TransferAnswer) {
    worker(of: session).post(.answer(task, answer))
  }

  package func setPriority(_ priority: Double, of task: TaskID, in session: SessionID) {
    worker(of: session).post(.setPriority(task, priority))
  }

  package func setLimit(_ bytesPerSecond: Int?, of task: TaskID, in session: SessionID) {
    worker(of: session).post(.setLimit(task, bytesPerSecond: bytesPerSecond))
  }

  /// Credentials of a session were taken away, or replaced: what was remembered of them goes.
  package func forgetCredentials(of session: SessionID, for spaces: [ProtectionSpace]) {
    worker(of: session).post(.forgetCredentials(session, spaces))
  }

  /// Closes the connections of a session that has no more tasks.
  package func forget(_ session: SessionID) { worker(of: session).post(.forget(session)) }

  /// The body of a data task that is under way.
  package func liveBody(of task: TaskID, in session: SessionID) -> LiveBody? {
    worker(of: session).liveBody(of: task)
  }

  /// Drops every transfer and ends the loops.
  package func stop() async {
    for (worker, loop) in zip(workers, loops) {
      await withCheckedContinuation { continuation in worker.post(.stop { continuation.resume() }) }
      await loop.stopAndJoin()
    }
  }
}
