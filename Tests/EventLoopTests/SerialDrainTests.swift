import EventLoop
import Synchronization
import Testing

@Suite struct SerialDrainTests {
  @Test func onlyTheFirstToEnqueueDrains() {
    var queue = SerialDrain<Int>()
    let claims = [queue.enqueue(1), queue.enqueue(2), queue.claim()]
    #expect(claims == [true, false, false] && queue.isDraining)
    #expect(queue.take() == [1, 2])
    let isFirst = queue.enqueue(3)
    #expect(!isFirst, "the drainer has not seen an empty queue yet")
    #expect(queue.take() == [3])
    #expect(queue.take().isEmpty && !queue.isDraining)
    let isFirstAgain = queue.enqueue(4)
    #expect(isFirstAgain)
  }

  @Test func endGoesOnWhileThereAreElements() {
    var queue = SerialDrain<Int>()
    _ = queue.enqueue(1)
    let isOver = queue.end()
    #expect(!isOver && queue.isDraining)
    _ = queue.take()
    let isOverNow = queue.end()
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
        let taken = queue.withLock { $0.take() }
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

  /// Elements of several threads are worked on by one thread at a time, each thread's in its order.
  @Test func nothingIsLostOrOvertaken() async {
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
