import Testing

@testable import Commands

@Suite struct TransferBoardTests {
  private static func items(_ count: Int) -> [TransferItem] {
    (0..<count).map { TransferItem(url: "http://o/\($0)", key: "k\($0)") }
  }
  private static func board(_ count: Int, window: Int = 100, tries: Int? = 20) -> TransferBoard {
    TransferBoard(items(count), window: window, tries: tries)
  }
  private static let body = TransferItem.Body(suggestedName: "a", size: 5, sha256: "00")
  private static let file = TransferItem.PlacedFile(path: "/d/a", size: 5, sha256: "00")

  @Test func `file is created and fetched and done`() {
    var board = Self.board(1)
    #expect(board.begin([]) == [.create([0])])
    #expect(board.didCreate([(0, .success("t"))]) == [])
    #expect(board.receive([.transferring(task: "t"), .progress(task: "t", received: 2, expected: 5)]) == [])
    #expect(board.activeItems.map(\.received) == [2])
    let actions = board.receive([.body(task: "t", Self.body), .ended(task: "t", nil)])
    #expect(actions == [.fetch(item: 0, task: "t", Self.body)])
    #expect(board.didFetch(item: 0, .success(Self.file)) == [.show(item: 0)])
    #expect(
      board.isDone && board.firstFailure == nil && board.items.doneCount == 1
        && board.items.receivedBytes == 5)
  }

  /// The stream may be faster than the reply to the creation.
  @Test func `events that precede the reply are not lost`() {
    var board = Self.board(1)
    _ = board.begin([])
    let actions = board.receive([
      .created(task: "t", key: "k0"), .body(task: "t", Self.body), .ended(task: "t", nil),
    ])
    #expect(actions == [.fetch(item: 0, task: "t", Self.body)])
    #expect(board.didFetch(item: 0, .success(Self.file)) == [.show(item: 0)])
    #expect(board.didCreate([(0, .success("t"))]) == [])
    #expect(board.isDone)
  }

  @Test func `window limits the tasks and each end makes room`() {
    var board = Self.board(5, window: 2)
    #expect(board.begin([]) == [.create([0, 1])])
    #expect(board.didCreate([(0, .success("t0")), (1, .success("t1"))]) == [])
    let failure = TransferItem.Failure(cause: .status, message: "404 Not Found")
    #expect(board.receive([.ended(task: "t0", failure)]) == [.show(item: 0), .create([2])])
    // While a batch is being created, further room waits for its reply.
    #expect(board.receive([.ended(task: "t1", failure)]) == [.show(item: 1)])
    #expect(board.didCreate([(2, .success("t2"))]) == [.create([3])])
    #expect(board.items.failedCount == 2 && board.firstFailure == failure)
  }

  @Test func `first failure determines the status`() {
    var board = Self.board(2)
    _ = board.begin([])
    _ = board.didCreate([
      (0, .failure(.init(cause: .usage, message: "bad URL"))), (1, .success("t")),
    ])
    _ = board.receive([.ended(task: "t", .init(cause: .timedOut, message: "late"))])
    #expect(board.firstFailure?.cause == .usage && board.isDone)
  }

  @Test func `finished file of an earlier command is skipped`() {
    var board = Self.board(2)
    #expect(board.skip(key: "k1", Self.file) == [.show(item: 1)])
    #expect(board.skip(key: "unknown", Self.file) == [])
    #expect(board.begin([[.created(task: "t1", key: "k1"), .ended(task: "t1", nil)]]) == [.create([0])])
    #expect(board.endedCount == 1)
  }

  @Test func `tasks of an earlier command are continued`() {
    var board = Self.board(5)
    let failure = TransferItem.Failure(cause: .network, message: "lost")
    let actions = board.begin([
      [.created(task: "t0", key: "k0"), .suspended(task: "t0")],
      [.created(task: "t1", key: "k1"), .ended(task: "t1", failure)],
      [.created(task: "t2", key: "k2"), .body(task: "t2", Self.body), .ended(task: "t2", nil)],
      // Its body has expired.
      [.created(task: "t3", key: "k3"), .ended(task: "t3", nil)],
      [.created(task: "other", key: "foreign"), .transferring(task: "other")],
      // The newest task comes first.
      [.created(task: "old", key: "k0"), .ended(task: "old", failure)],
    ])
    #expect(
      actions == [
        .resume(task: "t0"), .retry(item: 1, task: "t1"), .fetch(item: 2, task: "t2", Self.body),
        .create([3, 4]),
      ])
    #expect(board.didRetry(item: 1, .success("t1b")) == [])
    #expect(board.receive([.body(task: "t1b", Self.body), .ended(task: "t1b", nil)]).count == 1)
  }

  @Test func `reasons of waits are shown with the number of the retry`() {
    var board = Self.board(1)
    _ = board.begin([])
    _ = board.didCreate([(0, .success("t"))])
    for _ in 0..<3 {
      let actions = board.receive([
        .waiting(task: "t", reason: "503 Service Unavailable", until: 1008, isRetry: true)
      ])
      #expect(actions == [.show(item: 0)])
    }
    guard case .waiting(let wait) = board.items[0].state else {
      Issue.record("\(board.items[0].state)")
      return
    }
    #expect(wait.text(at: 1000.5) == "retry 3/20 in 8 s: 503 Service Unavailable")
  }

  @Test func `suspension by another client is shown`() {
    var board = Self.board(1)
    _ = board.begin([])
    _ = board.didCreate([(0, .success("t"))])
    #expect(board.receive([.transferring(task: "t"), .suspended(task: "t")]) == [.show(item: 0)])
    #expect(board.receive([.transferring(task: "t")]) == [] && board.items[0].state == .transferring)
  }

  @Test func `bodies are fetched a few at a time`() {
    var board = Self.board(9)
    _ = board.begin([])
    _ = board.didCreate((0..<9).map { ($0, .success("t\($0)")) })
    let reports = (0..<9).flatMap { number -> [TransferReport] in
      [.body(task: "t\(number)", Self.body), .ended(task: "t\(number)", nil)]
    }
    #expect(board.receive(reports).count == TransferBoard.fetches)
    #expect(board.didFetch(item: 0, .success(Self.file)).count == 2)
  }

  @Test func `refresh finds ends whose events are lost`() {
    var board = Self.board(1)
    _ = board.begin([])
    _ = board.didCreate([(0, .success("t"))])
    let actions = board.refresh([
      [.created(task: "t", key: "k0"), .body(task: "t", Self.body), .ended(task: "t", nil)]
    ])
    #expect(actions == [.fetch(item: 0, task: "t", Self.body)])
    #expect(board.refresh([[.created(task: "t", key: "k0"), .ended(task: "t", nil)]]) == [])
  }

  @Test func `rate is smoothed`() {
    var meter = RateMeter()
    meter.record(0, at: 0)
    meter.record(1000, at: 1)
    #expect(meter.rate == 1000)
    meter.record(1000, at: 1.1)
    #expect(meter.rate == 1000)
    meter.record(1000, at: 2.5)
    #expect(meter.rate < 1000 && meter.rate > 0)
  }
}
