internal import EventLoop
internal import JSON
internal import Synchronization

/// The shell of the machine: it executes the effects.
extension FerrySessionTask {
  func apply(_ input: TaskCallMachine.Input) {
    var (mustDrain, later): (Bool, [TaskEffect]) = (false, [])
    // Calls, the end and commands are queued under the lock, in the order in which the machine made them.
    shared.withLock { shared in
      for effect in shared.machine.handle(input) {
        switch effect {
        case .command(let command): mustDrain = shared.commands.enqueue(command) || mustDrain
        case .call(let call): session.delegateQueue.addOperation { self.perform(call) }
        case .end: session.delegateQueue.addOperation { self.finish() }
        default: later.append(effect)
        }
      }
    }
    if mustDrain { Task { await drain() } }
    for effect in later { execute(effect) }
  }

  private func execute(_ effect: TaskEffect) {
    switch effect {
    case .command, .call, .end: break
    case .allow(let decision): answer(decision, .response(.allow))
    case .store(let response, let decision): answer(decision, .caching(response))
    case .sendBody: askForBody()
    case .readBody: read { await self.readBody() }
    case .fetchFile: read { await self.fetchFile() }
    case .stopReading: shared.withLock { $0.reader }?.cancel()
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

  /// Releases all that the task needed. Its delegate has received the last call.
  private func finish() {
    let (waiters, handlers, file) = shared.withLock { shared in
      defer {
        (shared.waiters, shared.onResponse, shared.onCreation, shared.cancelHandlers) = ([], nil, [], [])
        shared.delegate = nil
      }
      let waiters = shared.onCreation + [shared.onResponse].compactMap(\.self) + shared.waiters
      return (waiters, shared.cancelHandlers, shared.storedFile)
    }
    for handler in handlers { handler(nil) }
    for waiter in waiters { waiter.resume() }
    session.didEnd(self, storedFile: file)
  }
}
