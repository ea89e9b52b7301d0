import EventLoop
import Synchronization
import Testing

@Suite struct SerialDrainTests {
  @Test func `only the first caller to enqueue drains`() {
    var queue = SerialDrain<Int>()
    let claims = [queue.enqueue(1), queue.enqueue(2), queue.beginDraining()]
    #expect(claims == [true, false, false] && queue.isDraining)
    #expect(queue.dequeueAll() == [1, 2])
    let isFirst = queue.enqueue(3)
    #expect(!isFirst, "the drainer has not seen an empty queue yet")
    #expect(queue.dequeueAll() == [3])
    #expect(queue.dequeueAll().isEmpty && !queue.isDraining)
    let isFirstAgain = queue.enqueue(4)
    #expect(isFirstAgain)
  }

  @Test func `drain does not end while there are elements`() {
    var queue = SerialDrain<Int>()
    _ = queue.enqueue(1)
    let isOver = queue.endDraining()
    #expect(!isOver && queue.isDraining)
    _ = queue.dequeueAll()
    let isOverNow = queue.endDraining()
    #expect(isOverNow && !queue.isDraining)
  }

  private final class Shared: Sendable {
    struct Element {
      let writer: Int
      let number: Int
    }
    struct Seen {
      var counts = [0, 0, 0, 0]
      var isBusy = false
      var faults = 0
    }
    let queue = Mutex(SerialDrain<Element>())
    let seen = Mutex(Seen())

    func write(_ element: Element) {
      guard queue.withLock({ $0.enqueue(element) }) else { return }
      while true {
        let taken = queue.withLock { $0.dequeueAll() }
        if taken.isEmpty { return }
        seen.withLock { seen in
          if seen.isBusy { seen.faults += 1 }
          seen.isBusy = true
        }
        for element in taken {
          seen.withLock { seen in
            if seen.counts[element.writer] != element.number { seen.faults += 1 }
            seen.counts[element.writer] += 1
          }
        }
        seen.withLock { $0.isBusy = false }
      }
    }
  }

  /// One thread at a time processes the elements of several threads, each thread's in order.
  @Test func `elements are neither lost nor reordered`() async {
    let shared = Shared()
    await withTaskGroup(of: Void.self) { group in
      for writer in 0..<4 {
        group.addTask {
          for number in 0..<5_000 { shared.write(.init(writer: writer, number: number)) }
        }
      }
    }
    let seen = shared.seen.withLock { $0 }
    #expect(seen.counts == [5_000, 5_000, 5_000, 5_000] && seen.faults == 0)
  }
}
