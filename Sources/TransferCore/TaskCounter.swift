/// The number of a session's unfinished tasks, and its last taskIdentifier. A plain value.
package struct TaskCounter: Sendable {
  /// The highest taskIdentifier assigned so far.
  package private(set) var lastIdentifier: Int
  /// The number of unfinished tasks.
  package internal(set) var unfinished = 0
  /// The limit of unfinished tasks.
  let limit: Int

  init(lastIdentifier: Int, limit: Int) {
    self.lastIdentifier = lastIdentifier
    self.limit = limit
  }

  func hasRoom(for count: Int) -> Bool { unfinished + count <= limit }

  /// Counts new tasks, and returns the first one's identifier.
  mutating func reserve(_ count: Int) -> Int {
    unfinished += count
    lastIdentifier += count
    return lastIdentifier - count + 1
  }

  /// Counts a recovered task, which has an identifier already.
  mutating func recover() { unfinished += 1 }

  /// Subtracts tasks that have ended or were refused.
  mutating func release(_ count: Int) {
    unfinished -= count
    assert(unfinished >= 0)
  }
}
