internal import EventLoop
internal import JSON
internal import Synchronization

/// The shell of the machine: it executes the effects.
extension FerrySessionTask {
  func apply(_ input: TaskCallMachine.Input) {
    var (mustDrain, later): (Bool, [TaskEffect]) = (false, [])
    // Calls and commands are queued under the lock, in the order in which the machine made them.
    shared.withLock { shared in
      for effect in shared.machine.handle(input) {
        switch effect {
        case .command(let command): mustDrain = shared.commands.enqueue(command) || mustDrain
        case .call(let call): session.delegateQueue.enqueue { self.perform(call) }
        default: later.append(effect)
        }
      }
    }
    if mustDrain { Task { await drain() } }
    for effect in later { execute(effect) }
  }

  private func execute(_ effect: TaskEffect) {
    switch effect {
    case .command, .call: break
    case .allow(let decision): answer(decision, .response(.allow))
    case .store(let response, let decision): answer(decision, .caching(response))
    case .sendBody: askForBody()
    case .readBody: read { await self.readBody() }
    case .fetchFile: read { await self.fetchFile() }
    case .stopReading: shared.withLock { $0.reader }?.cancel()
    case .end: finish()
    }
  }

  private func read(_ body: @escaping @Sendable () async -> Void) {
    let reader = Task { await body() }
    shared.withLock { $0.reader = reader }
  }

  private func drain() async {
    while true {
      let commands = shared.withLock { $0.commands.dequeueAll() }
      guard !commands.isEmpty else { return }
      for command in commands { await send(command) }
    }
  }

  private func finish() {
    let (waiters, starts, handlers, file) = shared.withLock { shared in
      defer {
        (shared.waiters, shared.onResponse, shared.onCreation, shared.cancelHandlers) = ([], nil, [], [])
      }
      let starts = shared.onCreation + [shared.onResponse].compactMap(\.self)
      return (shared.waiters, starts, shared.cancelHandlers, shared.storedFile)
    }
    for waiter in starts { waiter.resume() }
    session.delegateQueue.enqueue { for handler in handlers { handler(nil) } }
    // The session drops the task after the last call.
    session.delegateQueue.enqueue {
      self.shared.withLock { $0.delegate = nil }
      for waiter in waiters { waiter.resume() }
      self.session.didEnd(self, storedFile: file)
    }
  }
}
