/// How many tasks a session has that are not over, and how many it has had. A plain value.
package struct TaskTally: Sendable {
  /// The highest taskIdentifier that was given out.
  package private(set) var lastIdentifier: Int
  /// Tasks that have not ended.
  package internal(set) var unfinished = 0
  /// Of unfinished tasks.
  let limit: Int

  init(lastIdentifier: Int, limit: Int) {
    self.lastIdentifier = lastIdentifier
    self.limit = limit
  }

  func hasRoom(for count: Int) -> Bool { unfinished + count <= limit }

  /// Counts tasks that are to be, and gives the first one's identifier.
  mutating func take(_ count: Int) -> Int {
    unfinished += count
    lastIdentifier += count
    return lastIdentifier - count + 1
  }

  /// Counts a task that has an identifier already.
  mutating func recover() { unfinished += 1 }

  /// So many are over, or will not be.
  mutating func release(_ count: Int) {
    unfinished -= count
    assert(unfinished >= 0)
  }
}
