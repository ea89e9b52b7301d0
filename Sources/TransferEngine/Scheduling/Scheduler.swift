internal import HeapModule
internal import TransferModel

/// Which tasks may transfer now: a limit for each session and origin, and one for all.
///
/// Pure. Waiting is done here and not in libcurl, whose queue is walked at every removal and lets timeouts run.
struct Scheduler {
  /// Where a limit holds: one session's connections to one origin.
  struct Lane: Hashable {
    let session: SessionID
    let origin: String
  }
  private struct Waiting: Comparable {
    let priority: Double
    let serial: UInt64
    let task: TaskID
    // The heap's greatest comes first: higher priority, then earlier.
    static func < (left: Waiting, right: Waiting) -> Bool {
      (left.priority, right.serial) < (right.priority, left.serial)
    }
  }
  private struct LaneState {
    var limit: Int
    var active = 0
    var waiting = Heap<Waiting>()
    /// How many tasks wait; the heap may hold more entries.
    var countOfWaiting = 0
    var hasFreeSlot: Bool { active < limit }
    var isCrowded: Bool { waiting.count > 2 * countOfWaiting + Scheduler.spareEntries }
  }
  /// Entries that count for nobody and that a lane may hold beside as many as it has tasks that wait.
  static let spareEntries = 64

  private let maximumActive: Int
  private(set) var active = 0
  private var lanes: [Lane: LaneState] = [:]
  private var laneOfTask: [TaskID: Lane] = [:]
  /// The entry that counts for a waiting task: others of it are left over from before it was taken out.
  private var serials: [TaskID: UInt64] = [:]
  private var activeTasks: Set<TaskID> = []
  /// Lanes that only the common limit holds back, in the order in which they take turns.
  private var turn: [Lane] = []
  private var nextSerial: UInt64 = 0

  init(maximumActive: Int) { self.maximumActive = maximumActive }

  func isActive(_ task: TaskID) -> Bool { activeTasks.contains(task) }

  var countOfWaiting: Int { laneOfTask.count - activeTasks.count }

  /// Returns the tasks to start.
  mutating func submit(_ task: TaskID, in lane: Lane, limit: Int, priority: Double) -> [TaskID] {
    guard laneOfTask[task] == nil else { return [] }
    nextSerial += 1
    laneOfTask[task] = lane
    serials[task] = nextSerial
    var state = lanes[lane] ?? LaneState(limit: limit)
    state.limit = limit
    state.waiting.insert(Waiting(priority: priority, serial: nextSerial, task: task))
    state.countOfWaiting += 1
    lanes[lane] = state
    return fill(lane)
  }

  /// A task ended or was taken out; returns the tasks that may start in its place.
  mutating func remove(_ task: TaskID) -> [TaskID] {
    guard let lane = laneOfTask.removeValue(forKey: task) else { return [] }
    serials[task] = nil
    guard activeTasks.remove(task) != nil else {
      lanes[lane]?.countOfWaiting -= 1
      tidy(lane)
      dropIfIdle(lane)
      return []
    }
    active -= 1
    lanes[lane]?.active -= 1
    var started = fillWaitingLanes()
    started += fill(lane)
    dropIfIdle(lane)
    return started
  }

  /// Changes how many tasks of a lane may be active; returns the tasks that may start by that.
  mutating func setLimit(_ limit: Int, of lane: Lane) -> [TaskID] {
    guard lanes[lane] != nil else { return [] }
    lanes[lane]?.limit = limit
    return fill(lane)
  }

  /// An active task goes on under another name.
  mutating func rename(_ task: TaskID, to name: TaskID) {
    guard let lane = laneOfTask.removeValue(forKey: task) else { return }
    laneOfTask[name] = lane
    if activeTasks.remove(task) != nil { activeTasks.insert(name) }
  }

  /// Changes the place of a task that waits.
  mutating func setPriority(_ priority: Double, of task: TaskID) {
    guard let lane = laneOfTask[task], serials[task] != nil else { return }
    nextSerial += 1
    serials[task] = nextSerial
    lanes[lane]?.waiting.insert(Waiting(priority: priority, serial: nextSerial, task: task))
    tidy(lane)
  }

  /// How many entries the heaps hold, those that count for nobody included.
  var countOfEntries: Int { lanes.values.reduce(0) { $0 + $1.waiting.count } }

  /// Drops the entries that count for nobody where they are the most: a priority that is set again and again takes no memory.
  private mutating func tidy(_ lane: Lane) {
    guard lanes[lane]?.isCrowded == true, let entries = lanes[lane]?.waiting.unordered else { return }
    lanes[lane]?.waiting = Heap(entries.filter { serials[$0.task] == $0.serial })
  }

  private mutating func fill(_ lane: Lane) -> [TaskID] {
    var started: [TaskID] = []
    while let state = lanes[lane], state.hasFreeSlot, !state.waiting.isEmpty {
      guard active < maximumActive else {
        if !turn.contains(lane) { turn.append(lane) }
        break
      }
      if let task = takeNext(lane) { started.append(task) }
    }
    return started
  }

  /// One task from each lane in turn, so that no lane starves another.
  private mutating func fillWaitingLanes() -> [TaskID] {
    var started: [TaskID] = []
    while active < maximumActive, !turn.isEmpty {
      let lane = turn.removeFirst()
      guard let state = lanes[lane], state.hasFreeSlot else { continue }
      if let task = takeNext(lane) { started.append(task) }
      if let state = lanes[lane], state.hasFreeSlot, !state.waiting.isEmpty { turn.append(lane) }
    }
    return started
  }

  /// The lane's most urgent task that is still wanted; nil where none is left.
  private mutating func takeNext(_ lane: Lane) -> TaskID? {
    while let next = lanes[lane]?.waiting.popMax() {
      // Removed tasks stay in the heap until they come up.
      guard serials[next.task] == next.serial else { continue }
      serials[next.task] = nil
      activeTasks.insert(next.task)
      active += 1
      lanes[lane]?.active += 1
      lanes[lane]?.countOfWaiting -= 1
      return next.task
    }
    return nil
  }

  private mutating func dropIfIdle(_ lane: Lane) {
    while let next = lanes[lane]?.waiting.max, serials[next.task] != next.serial {
      lanes[lane]?.waiting.removeMax()
    }
    guard let state = lanes[lane], state.active == 0, state.waiting.isEmpty else { return }
    lanes[lane] = nil
  }
}
