internal import HeapModule
internal import TransferModel

/// The choice of tasks that may transfer now: a limit for each session and origin, and one for all.
///
/// Pure. Tasks wait here and not in libcurl, whose queue is searched at every removal and lets timeouts run.
struct Scheduler {
  /// The scope of a limit: one session's connections to one origin.
  struct Queue: Hashable {
    let session: SessionID
    let origin: String
  }
  private struct Waiting: Comparable {
    let priority: Double
    let serial: UInt64
    let task: TaskID
    // The heap's greatest element comes first: higher priority, then earlier.
    static func < (left: Waiting, right: Waiting) -> Bool {
      (left.priority, right.serial) < (right.priority, left.serial)
    }
  }
  private struct LaneState {
    var limit: Int
    var active = 0
    var waiting = Heap<Waiting>()
    /// The number of waiting tasks. The heap may have more entries.
    var countOfWaiting = 0
    var hasFreeSlot: Bool { active < limit }
    var isCrowded: Bool { waiting.count > 2 * countOfWaiting + Scheduler.spareEntries }
  }
  /// The number of outdated entries that a lane may have in addition to one for each waiting task.
  static let spareEntries = 64

  private let maximumActive: Int
  private(set) var active = 0
  private var lanes: [Queue: LaneState] = [:]
  private var laneOfTask: [TaskID: Queue] = [:]
  /// The serial number of a task's valid entry. Its earlier entries are outdated.
  private var serials: [TaskID: UInt64] = [:]
  private var activeTasks: Set<TaskID> = []
  /// Lanes with a free slot that only the common limit holds back, in their order of turns.
  private var turn: [Queue] = []
  private var nextSerial: UInt64 = 0

  init(maximumActive: Int) { self.maximumActive = maximumActive }

  func isActive(_ task: TaskID) -> Bool { activeTasks.contains(task) }

  var countOfWaiting: Int { laneOfTask.count - activeTasks.count }

  /// Returns the tasks to start.
  mutating func submit(_ task: TaskID, in lane: Queue, limit: Int, priority: Double) -> [TaskID] {
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

  /// Removes a task, and returns the tasks that may start in its place.
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

  /// Changes the limit of active tasks of a lane, and returns the tasks that may start.
  mutating func setLimit(_ limit: Int, of lane: Queue) -> [TaskID] {
    guard lanes[lane] != nil else { return [] }
    lanes[lane]?.limit = limit
    return fill(lane)
  }

  /// Continues an active task under another id.
  mutating func rename(_ task: TaskID, to name: TaskID) {
    guard let lane = laneOfTask.removeValue(forKey: task) else { return }
    laneOfTask[name] = lane
    if activeTasks.remove(task) != nil { activeTasks.insert(name) }
  }

  /// Changes the priority of a waiting task.
  mutating func setPriority(_ priority: Double, of task: TaskID) {
    guard let lane = laneOfTask[task], serials[task] != nil else { return }
    nextSerial += 1
    serials[task] = nextSerial
    lanes[lane]?.waiting.insert(Waiting(priority: priority, serial: nextSerial, task: task))
    tidy(lane)
  }

  /// The number of entries in the heaps, outdated ones included.
  var countOfEntries: Int { lanes.values.reduce(0) { $0 + $1.waiting.count } }

  /// Removes the outdated entries when they are the majority, so that repeated changes of a priority use no memory.
  private mutating func tidy(_ lane: Queue) {
    guard lanes[lane]?.isCrowded == true, let entries = lanes[lane]?.waiting.unordered else { return }
    lanes[lane]?.waiting = Heap(entries.filter { serials[$0.task] == $0.serial })
  }

  private mutating func fill(_ lane: Queue) -> [TaskID] {
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

  /// Starts one task of each lane in turn, so that no lane starves another.
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

  /// Removes and returns the lane's most urgent task; `nil` if none is left.
  private mutating func takeNext(_ lane: Queue) -> TaskID? {
    while let next = lanes[lane]?.waiting.popMax() {
      // Outdated entries stay in the heap until they reach its top.
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

  private mutating func dropIfIdle(_ lane: Queue) {
    while let next = lanes[lane]?.waiting.max, serials[next.task] != next.serial {
      lanes[lane]?.waiting.removeMax()
    }
    guard let state = lanes[lane], state.active == 0, state.waiting.isEmpty else { return }
    lanes[lane] = nil
  }
}
