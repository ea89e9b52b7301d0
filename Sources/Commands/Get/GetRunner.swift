internal import EventLoop
internal import FerryClient
internal import JSON

/// The shell of a `TransferBoard`: it executes the actions and feeds the results back, one after the other.
struct GetRunner {
  private enum Input: Sendable {
    case stream(ServiceEvents.Element)
    case streamFailed(ServiceError)
    case created([(item: Int, result: Result<String, TransferItem.Failure>)])
    case retried(item: Int, Result<String, TransferItem.Failure>)
    case fetched(item: Int, Result<TransferItem.PlacedFile, TransferItem.Failure>)
    case refreshed([[TransferReport]])
    case tick
    case interrupted
  }
  /// The result of a run.
  enum Ending { case done, interrupted }

  private static let tick = Duration.milliseconds(200)
  /// The size up to which a copied body stays in the service until its state is deleted. A deletion costs more than such a body.
  private static let smallBody = 32 << 10

  let tasks: GetTasks
  let state: GetState
  /// The chosen name; `-` for standard output.
  let output: String?
  /// Whether the service keeps a body after it was copied.
  let keepsBodies: Bool
  var board: TransferBoard
  var display: GetOutput
  /// Whether the command's own service runs; `true` for another service.
  let serviceRuns: @Sendable () -> Bool
  private var outage = ServiceOutage()
  /// Whether tasks of other commands in this directory have no file yet.
  private(set) var hasOthers = false
  private let inputs: AsyncStream<Input>
  private let feed: AsyncStream<Input>.Continuation

  init(
    _ tasks: GetTasks, _ state: GetState, board: TransferBoard, display: GetOutput, output: String?,
    keepsBodies: Bool, serviceRuns: @escaping @Sendable () -> Bool
  ) {
    self.tasks = tasks
    self.state = state
    self.board = board
    self.display = display
    self.output = output
    self.keepsBodies = keepsBodies
    self.serviceRuns = serviceRuns
    (inputs, feed) = AsyncStream.makeStream()
  }

  /// Runs until all files have ended, or until a signal.
  /// - Parameter interrupts: ends at a signal.
  mutating func run(_ interrupts: AsyncStream<Never>) async throws(CommandFailure) -> Ending {
    let guardian = Task { [feed] in
      for await _ in interrupts {}
      if !Task.isCancelled { feed.yield(.interrupted) }
    }
    let events = tasks.events(withProgress: display.form == .bars)
    let reader = Task { [feed] in
      do throws(ServiceError) {
        for try await element in events { feed.yield(.stream(element)) }
      } catch { feed.yield(.streamFailed(error)) }
    }
    let clock = display.form == .bars ? Self.clock(feed) : nil
    defer {
      reader.cancel()
      clock?.cancel()
      guardian.cancel()
      display.clear()
    }
    var hasBegun = false
    for await input in inputs {
      switch input {
      case .stream(.connected):
        outage = ServiceOutage()
        guard hasBegun else {
          hasBegun = true
          try await begin()
          break
        }
        refresh()
      case .stream(.disconnected(let error)):
        guard hasBegun else { throw CommandFailure(error) }
        guard serviceRuns() else {
          throw CommandFailure(
            .unreachable, "the service of this command has ended; the same command continues the downloads")
        }
        display.clear()
        try outage.note(error)
      case .stream(.didReset): refresh()
      case .stream(.event(let event)):
        guard let json = try? JSONParser.parse(event.data, isLimited: false) else { break }
        try perform(board.receive(TransferReport.of(event: json)))
      case .streamFailed(let error): throw CommandFailure(error)
      case .created(let results): try perform(board.didCreate(results))
      case .retried(let item, let result): try perform(board.didRetry(item: item, result))
      case .fetched(let item, let result):
        if !keepsBodies, case .success(let file) = result, file.size > Self.smallBody,
          let task = board.items[item].task
        {
          Task { [tasks] in await tasks.deleteBody(task) }
        }
        try perform(board.didFetch(item: item, result))
      case .refreshed(let known): try perform(board.refresh(known))
      case .tick:
        board.tick(at: Self.now())
        display.draw(board, at: Self.now())
      case .interrupted: return .interrupted
      }
      if let failure = display.failure { throw failure }
      if hasBegun, board.isDone { return .done }
    }
    return .interrupted
  }

  private static func now() -> Double { Double(WallClock.microseconds()) / 1e6 }

  private static func clock(_ feed: AsyncStream<Input>.Continuation) -> Task<Void, Never> {
    Task {
      while !Task.isCancelled {
        feed.yield(.tick)
        try? await Task.sleep(for: tick)
      }
    }
  }

  private mutating func begin() async throws(CommandFailure) {
    let known = try await CommandFailure.converting { () async throws(ServiceError) in
      try await tasks.known()
    }
    let keys = Set(board.items.map(\.key))
    hasOthers = known.contains { reports in
      guard case .created(_, let key)? = reports.first else { return false }
      if case .ended(_, _?)? = reports.last { return false }
      return !keys.contains(key) && state.records[key]?.file == nil
    }
    for (key, file) in state.finishedFiles() { try perform(board.skip(key: key, file)) }
    try perform(board.begin(known))
  }

  /// Reads the tasks again, because events may be lost.
  private func refresh() {
    Task { [tasks, feed] in
      if let known = try? await tasks.known() { feed.yield(.refreshed(known)) }
    }
  }

  private mutating func perform(_ actions: [TransferBoard.Action]) throws(CommandFailure) {
    for action in actions {
      switch action {
      case .create(let items):
        let creations = items.map { (key: board.items[$0].key, creation: tasks.plan.line($0)) }
        try state.record(creations)
        Task { [tasks, feed] in feed.yield(.created(await tasks.create(items))) }
      case .resume(let task): Task { [tasks] in await tasks.resume(task) }
      case .retry(let item, let task):
        Task { [tasks, feed] in feed.yield(.retried(item: item, await tasks.retry(task))) }
      case .fetch(let item, let task, let body): fetch(item, task, body)
      case .show(let item): display.show(board.items[item], board, at: Self.now())
      }
    }
  }

  private func fetch(_ item: Int, _ task: String, _ body: TransferItem.Body) {
    let key = board.items[item].key
    let file = BodyFile(state: state, connection: tasks.connection, output: output)
    Task { [feed, output, connection = tasks.connection] in
      guard output == "-" else {
        let result = await file.fetch(body, task: task, key: key)
        feed.yield(.fetched(item: item, result))
        return
      }
      do throws(TransferItem.Failure) {
        try await BodyFile.copy(body, task: task, from: connection) {
          (bytes) throws(TransferItem.Failure) in
          do throws(CommandFailure) { try CommandOutput.write(bytes) } catch {
            throw .init(cause: error.cause, message: error.description)
          }
        }
        let file = TransferItem.PlacedFile(path: "-", size: body.size, sha256: body.sha256)
        feed.yield(.fetched(item: item, .success(file)))
      } catch {
        feed.yield(.fetched(item: item, .failure(error)))
      }
    }
  }
}
