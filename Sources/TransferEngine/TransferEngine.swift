package import BlobStore
package import Curl
package import EngineAPI
package import EventLoop
package import HTTPCache
internal import Synchronization
package import TransferModel

/// Carries tasks out: a few workers, each on a loop of its own, with the sessions spread over them.
package final class TransferEngine: LocalCarrier {
  package typealias Settings = EngineSettings

  /// The service's own authorities; sessions may add theirs.
  package let authorities: TLSAuthorities
  private let settings: Settings
  private let probe: OriginProbe
  private let workers: [TransferWorker]
  private let loops: [EventLoop]

  /// - Parameter deliver: hears batches of facts, each worker's in order, on the worker's thread. Must not block.
  package init(
    workers count: Int, settings: Settings, deliver: @escaping @Sendable ([TransferFact]) -> Void
  ) throws(TransferError) {
    self.settings = settings
    let roots = try SessionTrust.roots(file: settings.certificateAuthorityFile)
    authorities = TLSAuthorities(roots)
    loops = (0..<count).map { EventLoop(name: "ferry-xfer-\($0)") }
    workers = loops.map { TransferWorker(loop: $0, settings: settings, roots: roots, deliver: deliver) }
    probe = OriginProbe(loop: loops[0], egress: settings.egress, authorities: authorities)
    guard watchNetworks() || !settings.networks.hasClasses else {
      throw TransferError(.notConnectedToInternet, "the system does not say which networks there are")
    }
    attachStorages()
    for (worker, loop) in zip(workers, loops) {
      worker.attach()
      loop.start()
    }
  }

  private func attachStorages() {
    storages.onIdle { [weak self] session in
      guard let worker = self?.worker(of: session) else { return }
      worker.mailbox.post(.noteLoaded(session))
    }
  }

  private func watchNetworks() -> Bool {
    settings.networks.watch(on: loops[0]) { [weak self] hasLost in
      for worker in self?.workers ?? [] { worker.mailbox.post(.networkChanged(hasLost: hasLost)) }
    }
  }

  /// Reads the file of the service's authorities again: new connections are judged by what is in it now. Transfers that are under way
  /// keep their connections; what they would leave behind for others is closed. Reads a disk.
  /// - Throws: that the file cannot be used; nothing is changed then.
  package func readAuthoritiesAgain() throws(TransferError) {
    let roots = try SessionTrust.rootsAgain(file: settings.certificateAuthorityFile)
    authorities.replace(by: roots)
    for worker in workers { worker.mailbox.post(.replaceRoots(roots)) }
  }

  /// The version of the libcurl that is loaded.
  package static var libcurlVersion: String { CurlVersion.loaded.description }

  /// Runs what waits for a disk, off every loop.
  package func onPool(_ work: @escaping @Sendable () -> Void) { settings.pool.submit(work) }

  /// Tries whether an origin can be reached now.
  package func reach(_ url: String, timeout: Duration) async throws(TransferError) -> Reachability {
    let parsed: CurlURL
    do throws(CurlURL.Fault) { parsed = try CurlURL(url) } catch {
      throw TransferError(.badURL, "bad URL", failingURL: url)
    }
    return Reachability(of: parsed, await probe.probe(parsed, timeout: timeout))
  }

  /// Where a session's bodies are.
  package func bodies(of session: SessionID, _ type: SessionType) -> any BlobStore {
    settings.bodies(of: session, type)
  }

  /// A session's cache; nil where it has none. From any thread.
  package func cache(of session: TransferSession) -> ResponseCache? {
    let worker = worker(of: session.id)
    return settings.caches?.cache(
      of: session.id, session.type, session.configuration.urlCache, countingIn: settings.memoryFiles
    ) {
      [mailbox = worker.mailbox] in
      mailbox.post(.run($0))
    }
  }

  package var storages: SessionStorages { settings.storages }
  package var caches: CacheStorage? { settings.caches }
  package var networks: Networks { settings.networks }

  /// Room for what ephemeral sessions keep.
  package var memoryFiles: MemoryFiles { settings.memoryFiles }

  private func worker(of session: SessionID) -> TransferWorker {
    workers[Int(session.low % UInt64(workers.count))]
  }

  /// Posts a command of a session, behind those that wait for the session's cookies and credentials.
  private func post(_ command: WorkerMailbox.Command, of session: SessionID) {
    let worker = worker(of: session)
    if storages.ifLoaded(session, needsStorage: false, { worker.mailbox.post(command) }) { return }
    storages.whenLoaded(session) { _ in worker.mailbox.post(command) }
  }

  /// Submits jobs of one session once its cookies and credentials are in memory. If they cannot be read, the tasks fail.
  private func submit(_ jobs: [TransferJob], of session: SessionID) {
    let worker = worker(of: session)
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

  /// Credentials of a session were taken away, or replaced: what was remembered of them goes.
  package func forgetCredentials(of session: SessionID, for spaces: [ProtectionSpace]) {
    post(.forgetCredentials(session, spaces), of: session)
  }

  /// Forgets whom a session has let in and was let in by; requests from here on open new connections.
  package func reset(_ session: SessionID, done: @escaping @Sendable () -> Void) {
    post(.reset(session, done), of: session)
  }

  /// Closes a session's idle connections.
  package func flush(_ session: SessionID, done: @escaping @Sendable () -> Void) {
    post(.flush(session, done), of: session)
  }

  /// Closes the connections of a session that has no more tasks.
  package func forget(_ session: SessionID) { post(.forget(session), of: session) }

  /// The body of a data task that is under way.
  package func liveBody(of task: TaskID, in session: SessionID) -> LiveBody? {
    worker(of: session).liveBody(of: task)
  }

  /// Calls `done` from the first worker's loop, once that has come round.
  package func ping(_ done: @escaping @Sendable () -> Void) { workers[0].mailbox.post(.run(done)) }

  /// Each worker's loop, which answers once it has taken what was asked of it before.
  package var pulses: [Pulse.Part] {
    workers.map { worker in
      Pulse.Part(worker.loop.name) { [mailbox = worker.mailbox] answer in mailbox.post(.run(answer)) }
    }
  }

  /// Drops every transfer and ends the loops.
  package func stop() async {
    await probe.close()
    await withCheckedContinuation { continuation in
      let networks = settings.networks
      workers[0].mailbox.post(
        .run {
          networks.stop()
          continuation.resume()
        })
    }
    for (worker, loop) in zip(workers, loops) {
      await withCheckedContinuation { continuation in worker.mailbox.post(.stop { continuation.resume() }) }
      await loop.stopAndJoin()
    }
  }
}
