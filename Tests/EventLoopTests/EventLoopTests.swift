import EventLoop
import Glibc
import Synchronization
import Testing

@Suite struct EventLoopTests {
  /// An actor that lives on a loop.
  private actor Resident {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private(set) var numbers: [Int] = []
    init(_ loop: EventLoop) { self.loop = loop }
    func add(_ number: Int) -> Bool {
      numbers.append(number)
      return loop.isOnLoop
    }
    func run<T: Sendable>(_ body: @Sendable (EventLoop) -> T) -> T { body(loop) }
  }

  private func withLoop(_ body: (Resident) async throws -> Void) async rethrows {
    let loop = EventLoop(name: "test-loop")
    loop.start()
    try await body(Resident(loop))
    loop.stop()
  }

  @Test func `actor runs on the thread of its loop`() async {
    await withLoop { resident in
      #expect(await resident.add(1))
      #expect(!resident.loop.isOnLoop)
    }
  }

  @Test func `jobs of many tasks all run`() async {
    await withLoop { resident in
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<5000 { group.addTask { _ = await resident.add(number) } }
      }
      #expect(await resident.numbers.sorted() == Array(0..<5000))
    }
  }

  @Test func `actions run on the loop in order`() async {
    await withLoop { resident in
      let loop = resident.loop
      let order = Mutex<[Int]>([])
      let elsewhere = Counter()
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        for number in 0..<5000 {
          loop.perform {
            order.withLock { $0.append(number) }
            if !loop.isOnLoop { elsewhere.add() }
          }
        }
        // An action that another action adds comes after the earlier ones.
        loop.perform {
          loop.perform {
            order.withLock { $0.append(5000) }
            continuation.resume()
          }
        }
      }
      #expect(order.withLock { $0 } == Array(0...5000))
      #expect(elsewhere.value == 0)
    }
  }

  @Test func `actions of many threads run and may set timers`() async {
    await withLoop { resident in
      let loop = resident.loop
      let count = Counter()
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<200 {
          group.addTask {
            await withCheckedContinuation { continuation in
              loop.perform {
                loop.schedule(at: .now) {
                  count.add()
                  continuation.resume()
                }
              }
            }
          }
        }
      }
      #expect(count.value == 200)
    }
  }

  @Test func `actions before the start and before the end run`() async {
    let loop = EventLoop(name: "test-loop")
    let count = Counter()
    loop.perform { count.add() }
    loop.start()
    loop.perform { loop.perform { count.add() } }
    await loop.stopAndJoin()
    #expect(count.value == 2)
  }

  @Test func `timers fire in order, cancelled ones do not`() async {
    await withLoop { resident in
      let fired = await withCheckedContinuation { (continuation: CheckedContinuation<[Int], Never>) in
        Task {
          await resident.run { loop in
            let order = Mutex<[Int]>([])
            let box = Box(order: order, continuation)
            let now = ContinuousClock.now
            loop.schedule(at: now + .milliseconds(20)) { box.add(2) }
            loop.schedule(at: now + .milliseconds(5)) { box.add(1) }
            let cancelled = loop.schedule(at: now + .milliseconds(10)) { box.add(99) }
            loop.cancel(cancelled)
            loop.schedule(at: now + .milliseconds(40)) { box.finish() }
          }
        }
      }
      #expect(fired == [1, 2])
    }
  }

  private final class Box: Sendable {
    private let order: Mutex<[Int]>
    private let continuation: CheckedContinuation<[Int], Never>
    init(order: consuming Mutex<[Int]>, _ continuation: CheckedContinuation<[Int], Never>) {
      self.order = order
      self.continuation = continuation
    }
    func add(_ number: Int) { order.withLock { $0.append(number) } }
    func finish() { continuation.resume(returning: order.withLock { $0 }) }
  }

  private final class Reader: DescriptorHandler, Sendable {
    let received = Mutex<[Readiness]>([])
    let continuation: CheckedContinuation<Void, Never>
    init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = continuation }
    func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
      var byte: UInt8 = 0
      _ = read(descriptor, &byte, 1)
      let isFirst = received.withLock { received in
        received.append(readiness)
        return received.count == 1
      }
      if isFirst { continuation.resume() }
    }
  }

  @Test func `ready descriptor calls its handler`() async {
    var pipes: [Int32] = [0, 0]
    #expect(pipe(&pipes) == 0)
    let (readEnd, writeEnd) = (pipes[0], pipes[1])
    await withLoop { resident in
      let kept = Mutex<Reader?>(nil)
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        let reader = Reader(continuation)
        kept.withLock { $0 = reader }
        Task {
          await resident.run { $0.watch(readEnd, for: .readable, handler: reader) }
          _ = write(writeEnd, "x", 1)
        }
      }
      #expect(kept.withLock { $0?.received.withLock { $0.first } } == .readable)
      await resident.run { $0.unwatch(readEnd) }
    }
    close(readEnd)
    close(writeEnd)
  }

  @Test func `worker pool with one thread keeps the order`() async {
    let pool = ThreadPool(name: "test-pool", threads: 1)
    let numbers = await withCheckedContinuation { (continuation: CheckedContinuation<[Int], Never>) in
      let order = Shared()
      for number in 0..<3000 { pool.submit { order.add(number) } }
      pool.submit { continuation.resume(returning: order.all) }
    }
    #expect(numbers == Array(0..<3000))
    pool.stop()
  }

  private final class Shared: Sendable {
    private let numbers = Mutex<[Int]>([])
    func add(_ number: Int) { numbers.withLock { $0.append(number) } }
    var all: [Int] { numbers.withLock { $0 } }
  }

  private final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    func add() { count.add(1, ordering: .relaxed) }
    var value: Int { count.load(ordering: .relaxed) }
  }
}
