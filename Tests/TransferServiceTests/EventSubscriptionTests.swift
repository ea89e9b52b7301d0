import Crypto
import EventLoop
import Foundation
import Ledger
import Records
import SQLiteLedger
import Synchronization
import TestSupport
import Testing
import TransferModel

@testable import TransferService

/// Event streams lose and repeat no event, however slow their reader is.
@Suite(.serialized) struct EventSubscriptionTests {
  private let hub = EventHub()
  private let store: SQLiteLedger
  private let pool = ThreadPool(name: "test-read", threads: 1)
  private static let time = Timestamp(seconds: 1_800_000_000)

  private let path = TemporaryDirectory.make("ferry-events") + "/test.db"
  private let box = SecretBox(secrets: [SymmetricKey(data: [UInt8](repeating: 7, count: 32))])

  init() throws {
    let hub = hub
    store = try SQLiteLedger(path: path, box: box) { hub.publish($0) }
  }

  /// - Parameter other: another process's ledger, or `nil` for this one.
  private func write(
    _ count: Int, session: SessionID = .shared, size: Int = 10, to other: SQLiteLedger? = nil
  ) async throws {
    for _ in 0..<count {
      var request = TransferRequest(url: "http://a/" + String(repeating: "x", count: size))
      request.method = "GET"
      let task = TransferTask(
        id: TaskID(at: Self.time, random: (.random(in: 0...(.max)), .random(in: 0...(.max)))),
        sessionID: session,
        taskIdentifier: 1, createdAt: Self.time,
        specification: TaskSpecification(kind: .data, request: request))
      var change = LedgerChange()
      change.events = [
        TransferEvent(.taskDidCreate, at: Self.time, session: session, task: task.id, .created(task)),
        TransferEvent(
          .taskDidChangeState, at: Self.time, session: session, task: task.id, .stateChanged(.running, nil)),
      ]
      try await (other ?? store).write(change)
    }
  }

  private func subscribe(
    to scope: EventScope = .session(.shared), after: Int64?, types: Set<EventType>? = nil
  ) -> (EventSubscription, AsyncStream<Void>) {
    let subscription = EventSubscription(
      scope: scope, after: after, types: types, wantsProgress: true, preamble: [], store: store,
      hub: hub, pool: pool, now: { Self.time })
    let (news, wakeup) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    subscription.start { wakeup.yield() }
    return (subscription, news)
  }

  /// Reads until the event with this sequence number has arrived.
  private func ids(_ subscription: EventSubscription, _ news: AsyncStream<Void>, upTo last: Int64) async
    -> [Int64]
  {
    var text: [UInt8] = []
    func ids() -> [Int64] {
      String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { line in
        line.hasPrefix("id: ") ? Int64(line.dropFirst(4)) : nil
      }
    }
    var iterator = news.makeAsyncIterator()
    while true {
      while let bytes = subscription.read(maximum: 64 * 1024) { text += bytes }
      if text.suffix(2) == [10, 10], let newest = ids().last, newest >= last { return ids() }
      _ = await iterator.next()
    }
  }

  @Test func `live stream receives new events only`() async throws {
    try await write(3)
    let (subscription, news) = subscribe(after: nil)
    try await write(2)
    try await write(5, session: SessionID(high: 1, low: 1))
    try await write(1)
    #expect(await ids(subscription, news, upTo: 22) == [7, 8, 9, 10, 21, 22])
    subscription.close()
    #expect(hub.count == 0)
  }

  /// The events of another process arrive in commit order. Many events at once are read from the journal.
  @Test(arguments: [3, Feed.gapLimit + 1]) func `live stream receives commits of others`(_ count: Int)
    async throws
  {
    let other = try SQLiteLedger(path: path, box: box, published: nil)
    let streams = [subscribe(after: nil), subscribe(after: 0)]
    try await write(1, session: SessionID(high: 1, low: 1))
    try await write(2)
    try await write(count, to: other)
    try await write(1)
    try await write(2, to: other)
    store.publishRemoteCommits()
    let last = Int64(2 * (count + 6))
    for (subscription, news) in streams {
      #expect(await ids(subscription, news, upTo: last) == Array(3...last))
    }
    for (subscription, _) in streams { subscription.close() }
    await other.close()
  }

  @Test func `stream of all sessions shows the sessions of its tenant only`() async throws {
    let tenant = Tenant(name: "t")
    let other = TransferSession(
      id: SessionID(high: 1, low: 1), createdAt: Self.time, description: nil, configuration: .init(),
      delegate: nil, tenant: tenant)
    let own = TransferSession.shared(.shared, of: .default)
    var change = LedgerChange()
    change.sessions = [own, other]
    try await store.write(change)
    let (subscription, news) = subscribe(to: .tenant(.default), after: nil)
    #expect(hub.hasListeners(of: own) && !hub.hasListeners(of: other))
    let task = TaskID(high: 1, low: 1)
    #expect(hub.wantsProgress(of: task, in: own.id, tenant: own.tenant))
    #expect(!hub.wantsProgress(of: task, in: other.id, tenant: tenant))
    #expect(!hub.wantsProgress(of: task, in: SessionID(high: 1, low: 2), tenant: nil))
    try await write(2, session: other.id)
    try await write(1)
    try await write(1, session: SessionID(high: 1, low: 2))
    try await write(1)
    #expect(await ids(subscription, news, upTo: 10) == [5, 6, 9, 10])
    let (replay, more) = subscribe(to: .tenant(tenant), after: 0)
    try await write(1, session: other.id)
    #expect(await ids(replay, more, upTo: 12) == [1, 2, 3, 4, 11, 12])
    for stream in [subscription, replay] { stream.close() }
  }

  @Test func `replay and live events join without gap or repetition`() async throws {
    try await write(50)
    let (subscription, news) = subscribe(after: 31)
    async let more: Void = write(200)
    let seen = await ids(subscription, news, upTo: 500)
    try await more
    #expect(seen == Array(32...500))
  }

  @Test func `slow reader continues from the journal`() async throws {
    let (subscription, news) = subscribe(after: nil)
    try await write(300, size: 10_000)  // three times the limit of queued bytes
    #expect(await ids(subscription, news, upTo: 600) == Array(1...600))
    try await write(10)
    #expect(await ids(subscription, news, upTo: 620) == Array(601...620))
  }

  /// Waits for a condition, because streams receive a commit after its writer.
  private func wait(until holds: () -> Bool) async throws {
    while !holds() { try await Task.sleep(for: .milliseconds(2)) }
  }

  /// Streams share queued bytes. A stream's own memory is about one read.
  @Test(arguments: [16, 4096, 1 << 20]) func `slow reader uses little memory`(_ maximum: Int) async throws {
    let (subscription, news) = subscribe(after: nil)
    try await write(1, size: 10_000)
    try await wait { subscription.waiting.shared > 0 }
    let smallest = subscription.waiting.shared
    try await write(79, size: 10_000)
    try await wait { subscription.waiting.shared >= 80 * smallest }
    #expect(subscription.waiting.own == 0)
    let fragment = subscription.waiting.shared / 80
    let first = try #require(subscription.read(maximum: maximum))
    let bound = min(maximum, EventSubscription.readyBytes) + fragment + 100
    #expect(first.count <= bound && subscription.waiting.own <= bound)
    // However many events arrive, the waiting bytes are limited and no event is lost.
    for _ in 0..<10 {
      try await write(10, size: 10_000)
      let waiting = subscription.waiting
      #expect(waiting.own <= bound && waiting.own + waiting.shared <= EventSubscription.maximumQueuedBytes)
    }
    var text = first
    var iterator = news.makeAsyncIterator()
    while ServerSentEvents.split(text).compactMap({ ServerSentEvents.id(of: $0) }).last ?? 0 < 360 {
      while let bytes = subscription.read(maximum: 64 * 1024) { text += bytes }
      if !String(decoding: text.suffix(30_000), as: UTF8.self).contains("id: 360\n") {
        _ = await iterator.next()
      }
    }
    text.removeFirst(Self.retry.count)
    #expect(ServerSentEvents.split(text).compactMap { ServerSentEvents.id(of: $0) } == Array(1...360))
  }

  /// Queued progress is older than the events that the stream reads from the journal later.
  @Test func `lost queue drops its progress`() async throws {
    let (subscription, news) = subscribe(after: nil)
    let task = TaskID(high: 1, low: 1)
    subscription.offer(
      JournalFragment(
        first: 0, last: 0, tenant: nil, sessionID: .shared, taskID: task, bytes: [],
        bytesWithProgress: Array("event: old\ndata: {}\n\n".utf8)))
    try await write(300, size: 10_000)
    let read = await oldest(subscription, news, upTo: 600)
    #expect(read.ids == Array(1...600) && !read.text.contains("event: old"))
  }

  /// A merged event carries all growth since the last delivered one.
  @Test(arguments: [nil, Set([EventType.taskDidSendBodyData, .taskDidComplete])])
  func `merged progress reports the sum of its growth`(_ types: Set<EventType>?) async throws {
    let (subscription, _) = subscribe(after: nil, types: types)
    let (task, other) = (TaskID(high: 1, low: 1), TaskID(high: 1, low: 2))
    func tell(_ type: EventType, _ growth: Int64, total: Int64, of task: TaskID) {
      var (counts, sequence) = (TaskProgress(), Int64(0))
      counts.countOfBytesSent = total
      counts.countOfBytesReceived = total
      let event = TransferEvent(
        type, at: Self.time, session: .shared, task: task, .progress(counts, delta: growth))
      for fragment in JournalFragment.render([event], [:], &sequence) { subscription.offer(fragment) }
    }
    tell(.taskDidSendBodyData, 3, total: 3, of: task)
    tell(.taskDidSendBodyData, 4, total: 7, of: task)
    tell(.taskDidSendBodyData, 1, total: 1, of: other)
    tell(.dataTaskDidReceiveData, 6, total: 6, of: task)
    tell(.taskDidSendBodyData, 5, total: 12, of: task)
    var text = String(decoding: subscription.read(maximum: 1 << 16) ?? [], as: UTF8.self)
    #expect(text.contains(#""bytesSent":12,"totalBytesSent":12"#))
    #expect(text.contains(#""bytesSent":1,"totalBytesSent":1"#))
    #expect(text.contains(#""bytesReceived":6"#) == (types == nil))
    tell(.taskDidSendBodyData, 8, total: 20, of: task)
    text = String(decoding: subscription.read(maximum: 1 << 16) ?? [], as: UTF8.self)
    #expect(text.contains(#""bytesSent":8,"totalBytesSent":20"#), "delivered growth is not repeated")
    subscription.close()
  }

  @Test func `filters apply to live and replayed events`() async throws {
    try await write(5)
    let (subscription, news) = subscribe(after: 0, types: [.taskDidChangeState])
    try await write(5)
    #expect(await ids(subscription, news, upTo: 20) == [2, 4, 6, 8, 10, 12, 14, 16, 18, 20])
  }

  /// Reads until the event with this sequence number has arrived. Returns the text without the `retry:` field.
  private func oldest(_ subscription: EventSubscription, _ news: AsyncStream<Void>, upTo last: Int64) async
    -> (text: String, ids: [Int64])
  {
    var text: [UInt8] = []
    var iterator = news.makeAsyncIterator()
    while true {
      while let bytes = subscription.read(maximum: 64 * 1024) { text += bytes }
      if text.starts(with: Self.retry) { text.removeFirst(Self.retry.count) }
      let ids = ServerSentEvents.split(text).compactMap { ServerSentEvents.id(of: $0) }
      if let newest = ids.last, newest >= last { return (String(decoding: text, as: UTF8.self), ids) }
      _ = await iterator.next()
    }
  }

  private static let retry = Array("retry: 2000\n".utf8)

  /// Parsers report a block with only that field as an empty event.
  @Test func `retry field comes once, with the first event`() async throws {
    let (subscription, news) = subscribe(after: nil)
    var iterator = news.makeAsyncIterator()
    #expect(subscription.read(maximum: 1 << 16) == nil)
    subscription.offerHeartbeat()
    #expect(subscription.read(maximum: 1 << 16) == Array(": heartbeat\n\n".utf8))
    for isFirst in [true, false] {
      try await write(1)
      // Streams receive a commit after its writer.
      var bytes = subscription.read(maximum: 1 << 16)
      while bytes == nil {
        _ = await iterator.next()
        bytes = subscription.read(maximum: 1 << 16)
      }
      let text = String(decoding: bytes ?? [], as: UTF8.self)
      #expect(text.hasPrefix(isFirst ? "retry: 2000\nid: 1\nevent: " : "id: 3\nevent: "))
      #expect(text.components(separatedBy: "retry:").count == (isFirst ? 2 : 1))
    }
  }

  /// Pages of the journal take another path than live events.
  @Test(arguments: [0, 2] as [Int64]) func `replay starts with the retry field`(_ after: Int64) async throws {
    try await write(3)
    let (subscription, news) = subscribe(after: after)
    var text = ""
    var iterator = news.makeAsyncIterator()
    while !text.contains("id: 6\n") {
      while let bytes = subscription.read(maximum: 1 << 16) { text += String(decoding: bytes, as: UTF8.self) }
      if !text.contains("id: 6\n") { _ = await iterator.next() }
    }
    #expect(text.hasPrefix("retry: 2000\nid: \(after + 1)\nevent: "))
    #expect(text.components(separatedBy: "retry:").count == 2)
  }

  private func prune(through sequence: Int64) async throws {
    var pruning = Pruning()
    pruning.events = PrunedEvents(through: sequence, time: Self.time)
    var change = LedgerChange()
    change.pruning = pruning
    try await store.write(change)
  }

  @Test(arguments: [(0, true), (9, true), (10, false), (12, false)] as [(Int64, Bool)])
  func `reader with a pruned cursor receives didReset first`(_ after: Int64, _ isTold: Bool) async throws {
    try await write(10)
    try await prune(through: 10)
    let (subscription, news) = subscribe(after: after)
    let read = await oldest(subscription, news, upTo: 20)
    #expect(read.ids == Array(max(after, 10) + 1...20))
    #expect(read.text.hasPrefix("event: events.didReset\n") == isTold)
    #expect(read.text.contains(#""oldestAvailable":11"#) == isTold)
    // Only once.
    try await write(1)
    let more = await oldest(subscription, news, upTo: 22)
    #expect(more.ids == [21, 22] && !more.text.contains("didReset"))
  }

  @Test func `slow reader receives didReset if its events were pruned`() async throws {
    let (subscription, news) = subscribe(after: nil)
    try await write(300, size: 10_000)  // more than the limit of queued bytes
    try await prune(through: 598)
    let read = await oldest(subscription, news, upTo: 600)
    // Once as the event's name, once as its type.
    #expect(read.text.components(separatedBy: "events.didReset").count == 3)
    #expect(read.ids.suffix(2) == [599, 600])
  }
}
