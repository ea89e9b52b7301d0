package import BlobStore
package import Curl
package import EngineAPI
package import EventLoop
package import HTTPCache
internal import Synchronization
package import TransferModel

/// The engine that runs tasks: a few transfer loops, each on a thread of its own, with the sessions spread over them.
package final class TransferEngine: TransferExecuting {
  package typealias Settings = EngineSettings

  /// The service's certificate authorities. Sessions may add their own.
  package let authorities: CertificateAuthorities
  private let settings: Settings
  private let probe: OriginProbe
  private let transferLoops: [TransferLoop]
  private let loops: [EventLoop]

  /// - Parameter deliver: Receives batches of facts, those of each transfer loop in order, on that loop's thread. Must not block.
  package init(
    workers count: Int, settings: Settings, deliver: @escaping @Sendable ([TransferFact]) -> Void
  ) throws(TransferError) {
    self.settings = settings
    let roots = try TrustConfigurationCheck.roots(file: settings.certificateAuthorityFile)
    authorities = CertificateAuthorities(roots)
    loops = (0..<count).map { EventLoop(name: "ferry-xfer-\($0)") }
    transferLoops = loops.map { TransferLoop(loop: $0, settings: settings, roots: roots, deliver: deliver) }
    probe = OriginProbe(loop: loops[0], egress: settings.egress, authorities: authorities)
    guard watchNetworks() || !settings.networks.hasClasses else {
      throw TransferError(
        .notConnectedToInternet,
        "the system does not report its networks; remove the setting, or allow netlink sockets")
    }
    attachStorages()
    for (worker, loop) in zip(transferLoops, loops) {
      worker.attach()
      loop.start()
    }
  }

  private func attachStorages() {
    storages.onIdle { [weak self] session in
      guard let worker = self?.transferLoop(of: session) else { return }
      worker.mailbox.post(.noteLoaded(session))
    }
  }

  private func watchNetworks() -> Bool {
    settings.networks.watch(on: loops[0]) { [weak self] hasLost in
      for worker in self?.transferLoops ?? [] { worker.mailbox.post(.networkChanged(hasLost: hasLost)) }
    }
  }

  /// Reads the file of the service's certificate authorities again and applies them to new connections. Running transfers keep their
  /// connections, but no later request uses these. Reads from disk.
  /// - Throws: An error if the file cannot be used; the previous certificate authorities then stay in force.
  package func reloadCertificateAuthorities() throws(TransferError) {
    let roots = try TrustConfigurationCheck.reloadRoots(file: settings.certificateAuthorityFile)
    authorities.replace(by: roots)
    for worker in transferLoops { worker.mailbox.post(.replaceRoots(roots)) }
  }

  /// The version of the loaded libcurl.
  package static var libcurlVersion: String { CurlVersion.loaded.description }

  /// Runs work on the file pool instead of a loop, because the work may wait for a disk.
  package func onPool(_ work: @escaping @Sendable () -> Void) { settings.pool.submit(work) }

  /// Returns whether an origin can be reached now.
  package func probe(_ url: String, timeout: Duration) async throws(TransferError) -> Reachability {
    let parsed: CurlURL
    do throws(CurlURL.Fault) { parsed = try CurlURL(url) } catch {
      throw TransferError(.badURL, "bad URL", failingURL: url)
    }
    return Reachability(of: parsed, await probe.probe(parsed, timeout: timeout))
  }

  /// Returns the blob store of a session's bodies.
  package func bodies(of session: SessionID, _ type: SessionType) -> any BlobStore {
    settings.bodies(of: session, type)
  }

  /// Returns a session's cache; `nil` if the session has none. May be called on any thread.
  package func cache(of session: TransferSession) -> ResponseCache? {
    let worker = transferLoop(of: session.id)
    return settings.caches?.cache(
      of: session.id, session.type, session.configuration.urlCache, countingIn: settings.memoryFiles
    ) {
      [mailbox = worker.mailbox] in
      mailbox.post(.run($0))
    }
  }

  package var storages: SessionStorageLoader { settings.storages }
  package var caches: CacheStorage? { settings.caches }
  package var networks: NetworkEnvironment { settings.networks }

  /// The memory quota of ephemeral sessions.
  package var memoryFiles: MemoryFiles { settings.memoryFiles }

  private func transferLoop(of session: SessionID) -> TransferLoop {
    transferLoops[Int(session.low % UInt64(transferLoops.count))]
  }

  /// Posts a command of a session, after any commands that wait for the session's cookies and credentials.
  private func post(_ command: TransferLoopMailbox.Command, of session: SessionID) {
    let worker = transferLoop(of: session)
    if storages.ifLoaded(session, needsStorage: false, { worker.mailbox.post(command) }) { return }
    storages.whenLoaded(session) { _ in worker.mailbox.post(command) }
  }

  /// Submits jobs of one session when its cookies and credentials are in memory. If they cannot be read, the tasks fail.
  private func submit(_ jobs: [TransferJob], of session: SessionID) {
    let worker = transferLoop(of: session)
    if storages.ifLoaded(session, { worker.mailbox.post(.submit(jobs)) }) { return }
    storages.whenLoaded(session) { isLoaded in worker.mailbox.post(isLoaded ? .submit(jobs) : .fail(jobs)) }
  }

  package func submit(_ jobs: [TransferJob]) {
    guard let first = jobs.first else { return }
    if jobs.allSatisfy({ $0.session == first.session }) {
      submit(jobs, of: first.session)
    } else {
      for job in jobs { submit([job], of: job.session) }
    }
  }

  package func perform(_ command: TaskCommand, on task: TaskID, in session: SessionID) {
    post(.command(command, task), of: session)
  }

  /// Drops the remembered authentication of credentials that were deleted or replaced.
  package func forgetCredentials(of session: SessionID, for spaces: [ProtectionSpace]) {
    post(.forgetCredentials(session, spaces), of: session)
  }

  /// Drops a session's remembered credentials and trusted certificates; later requests open new connections (URLSession.reset).
  package func reset(_ session: SessionID, done: @escaping @Sendable () -> Void) {
    post(.reset(session, done), of: session)
  }

  /// Closes a session's idle connections (URLSession.flush).
  package func flush(_ session: SessionID, done: @escaping @Sendable () -> Void) {
    post(.flush(session, done), of: session)
  }

  /// Closes the connections of a session whose tasks have all ended.
  package func releaseSession(_ session: SessionID) { post(.forget(session), of: session) }

  /// Returns the body of a running data task.
  package func liveBody(of task: TaskID, in session: SessionID) -> LiveBody? {
    transferLoop(of: session).liveBody(of: task)
  }

  /// Calls `done` on the first transfer loop after the commands that were posted before.
  package func ping(_ done: @escaping @Sendable () -> Void) { transferLoops[0].mailbox.post(.run(done)) }

  /// A liveness probe for each transfer loop, which answers after the commands that were posted before.
  package var pulses: [LivenessProbe.Component] {
    transferLoops.map { worker in
      LivenessProbe.Component(worker.loop.name) { [mailbox = worker.mailbox] answer in
        mailbox.post(.run(answer))
      }
    }
  }

  /// Drops all transfers and stops the loops.
  package func stop() async {
    await probe.close()
    await withCheckedContinuation { continuation in
      let networks = settings.networks
      transferLoops[0].mailbox.post(
        .run {
          networks.stop()
          continuation.resume()
        })
    }
    for (worker, loop) in zip(transferLoops, loops) {
      await withCheckedContinuation { continuation in worker.mailbox.post(.stop { continuation.resume() }) }
      await loop.stopAndJoin()
    }
  }
}
