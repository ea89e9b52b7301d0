import Curl
import EngineAPI
import TestSupport
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct JobQueueTests {
  private static func job(_ number: Int) -> TransferJob {
    TransferJob(
      task: TaskID(high: 1, low: UInt64(number)), session: .shared, configuration: .init(), kind: .data,
      request: TransferRequest(url: "http://a.test/"), priority: 0.5)
  }

  @Test func `job is taken once when it has a slot`() throws {
    var queue = JobQueue(maximumActive: 10)
    let (job, url) = (Self.job(1), try CurlURL("http://a.test/"))
    #expect(queue.submit(job, url, limit: 1) == [job.task])
    let (first, second) = (queue.dequeue(job.task), queue.dequeue(job.task))
    #expect(first?.job.task == job.task && second == nil)
    // From now on the task is a transfer, and the queue has no job of it.
    let (dropped, isSuspended) = (queue.drop(job.task), queue.suspend(job.task))
    #expect(dropped == nil && !isSuspended)
  }

  /// A change of a waiting or suspended job applies when the job is resumed.
  @Test func `suspended job keeps its changes`() throws {
    var queue = JobQueue(maximumActive: 0)
    let (job, url) = (Self.job(1), try CurlURL("http://a.test/"))
    #expect(queue.submit(job, url, limit: 1).isEmpty)
    queue.setRate(7, of: job.task)
    let (isSuspended, taken) = (queue.suspend(job.task), queue.dequeue(job.task))
    #expect(isSuspended && taken == nil)
    queue.setPriority(0.9, of: job.task)
    let (resumed, again) = (queue.resume(job.task), queue.resume(job.task))
    #expect(resumed?.maximumBytesPerSecond == 7 && resumed?.priority == 0.9)
    #expect(again == nil)
  }

  /// A random walk: each job is taken once, and no slot is lost.
  @Test(arguments: 1...10 as ClosedRange<UInt64>) func `each job is taken once`(_ seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    var queue = JobQueue(maximumActive: 3)
    let url = try CurlURL("http://a.test/")
    var (held, suspended, active) = (Set<TaskID>(), Set<TaskID>(), Set<TaskID>())
    var next = 0
    func start(_ tasks: [TaskID], _ queue: inout JobQueue) throws {
      for task in tasks {
        let (waited, job, isNew) = (held.remove(task), queue.dequeue(task), active.insert(task).inserted)
        try #require(waited != nil && job != nil && isNew)
      }
      #expect(active.count <= 2 && (held.isEmpty || active.count == 2))
    }
    for _ in 0..<2000 {
      switch Int.random(in: 0..<6, using: &generator) {
      case 0, 1:
        next += 1
        held.insert(Self.job(next).task)
        try start(queue.submit(Self.job(next), url, limit: 2), &queue)
      case 2:
        guard let task = held.sorted().randomElement(using: &generator) else { continue }
        let isSuspended = queue.suspend(task)
        try #require(isSuspended)
        held.remove(task)
        suspended.insert(task)
        try start(queue.remove(task), &queue)
      case 3:
        guard let task = suspended.sorted().randomElement(using: &generator) else { continue }
        suspended.remove(task)
        let resumed = queue.resume(task)
        let job = try #require(resumed)
        held.insert(task)
        try start(queue.submit(job, url, limit: 2), &queue)
      case 4:
        guard let task = held.union(suspended).sorted().randomElement(using: &generator) else { continue }
        let dropped = queue.drop(task)
        try #require(dropped?.task == task)
        (held, suspended) = (held.subtracting([task]), suspended.subtracting([task]))
        try start(queue.remove(task), &queue)
      default:
        guard let task = active.sorted().randomElement(using: &generator) else { continue }
        active.remove(task)
        try start(queue.remove(task), &queue)
      }
    }
    #expect(next > 500)
  }
}
