internal import HeapModule
internal import TransferModel

/// Bounds the memory of a session's large tasks. A plain value.
///
/// A task counts as submitted from its submission to the engine or the worker until its end. A large task beyond the bound is not
/// submitted. It is evicted, and called when there is room: higher priorities first, then in the order of creation.
struct SubmissionQueue: Sendable {
  private struct Entry: Comparable {
    let priority: Double
    let taskIdentifier: Int
    let task: TaskID
    /// Orders entries so that the maximum is called first.
    static func < (left: Entry, right: Entry) -> Bool {
      (left.priority, right.taskIdentifier) < (right.priority, left.taskIdentifier)
    }
  }
  private struct Submission {
    let size: Int
    let isPaused: Bool
  }

  /// Limit for paused tasks, as a multiple of `capacity`. Beyond it, no further large task is submitted.
  private static let pausedShare = 16
  /// The number of stale heap entries that do not yet require a cleanup.
  private static let spareEntries = 64

  /// Size up to which a task is always submitted.
  let smallSize: Int
  let capacity: Int
  private var submitted: [TaskID: Submission] = [:]
  /// Bytes of the submitted large tasks.
  private var (paused, active) = (0, 0)
  private var waiting: [TaskID: (entry: Entry, size: Int)] = [:]
  /// May contain stale entries: removed tasks, and earlier priorities of waiting tasks.
  private var heap = Heap<Entry>()
  /// The waiting task whose turn it is to begin.
  private var called: TaskID?

  /// - Parameters:
  ///   - capacity: bytes of all submitted large tasks that are not paused. A single task may exceed the capacity.
  init(smallSize: Int = 0, capacity: Int = .max) {
    self.smallSize = smallSize
    self.capacity = capacity
  }

  /// Whether a called task has not been submitted or removed yet.
  var hasCall: Bool { called != nil }

  func isLarge(_ task: TransferTask) -> Bool { task.textSize > smallSize }

  /// Returns whether the memory limit allows the changed task in place of the current one.
  func hasRoom(for new: TransferTask, inPlaceOf machine: borrowing TaskMachine) -> Bool {
    let known = submitted[new.id]
    let growth = new.textSize - (known?.size ?? 0)
    guard isLarge(new), growth > 0, machine.isResident else { return true }
    return known?.isPaused == true ? (paused + growth) / Self.pausedShare <= capacity : hasRoom(for: growth)
  }

  private func hasRoom(for bytes: Int) -> Bool {
    (active == 0 || active + bytes <= capacity) && paused / Self.pausedShare < capacity
  }

  /// Submits a task if there is room. Otherwise the task waits.
  /// - Returns: whether it is submitted.
  mutating func submit(
    _ machine: borrowing TaskMachine, _ session: borrowing TransferSession, at now: InputContext
  )
    -> Bool
  {
    let task = machine.task
    guard submitted[task.id] == nil else { return true }
    guard isLarge(task) else {
      remove(task.id)
      return true
    }
    let size = task.textSize
    guard called == task.id || waiting.isEmpty && hasRoom(for: size) else {
      wait(task, size: size)
      return false
    }
    remove(task.id)
    set(task.id, Submission(size: size, isPaused: Self.isPaused(machine, session, at: now)))
    return true
  }

  /// Updates the queue after a change of a task.
  mutating func note(
    _ machine: borrowing TaskMachine, _ session: borrowing TransferSession, at now: InputContext
  ) {
    let task = machine.task
    if machine.isResident {
      let isPaused = isLarge(task) && Self.isPaused(machine, session, at: now)
      set(task.id, isLarge(task) ? Submission(size: task.textSize, isPaused: isPaused) : nil)
    } else if machine.isEnding || task.state != .running {
      remove(task.id)
    } else {
      set(task.id, nil)
      if waiting[task.id] != nil { wait(task, size: task.textSize) }
    }
  }

  private mutating func set(_ task: TaskID, _ new: Submission?) {
    if let old = submitted[task] {
      if old.isPaused { paused -= old.size } else { active -= old.size }
    }
    if let new {
      if new.isPaused { paused += new.size } else { active += new.size }
    }
    if !submitted.isEmpty || new != nil { submitted[task] = new }
  }

  /// Adds a task, or changes its place.
  private mutating func wait(_ task: TransferTask, size: Int) {
    let entry = Entry(priority: task.priority, taskIdentifier: task.taskIdentifier, task: task.id)
    guard waiting.updateValue((entry, size), forKey: task.id)?.entry != entry else { return }
    if heap.count < 2 * waiting.count + Self.spareEntries {
      heap.insert(entry)
    } else {
      heap = Heap(waiting.values.map(\.entry))
    }
  }

  /// Removes a task that has ended, or that does not want to begin now.
  mutating func remove(_ task: TaskID) {
    set(task, nil)
    if !waiting.isEmpty { waiting[task] = nil }
    if called == task { called = nil }
  }

  /// Removes the task if it was called and was not submitted.
  mutating func endCall(of task: TaskID) { if called == task { remove(task) } }

  /// Calls the next waiting task if there is room for it. The caller must start that task. Only one task is called at a time: until it is
  /// submitted or removed, the result is `nil`.
  mutating func callNext() -> TaskID? {
    guard called == nil else { return nil }
    while let next = heap.max {
      guard let (entry, size) = waiting[next.task], entry == next else {
        heap.removeMax()
        continue
      }
      guard hasRoom(for: size) else { return nil }
      called = next.task
      return next.task
    }
    return nil
  }

  /// Returns whether the task may wait for long, so that other tasks may use its room meanwhile. The task may be suspended, or wait for a
  /// decision or for connectivity. The worker may also hold it for its date, its next attempt, or tasks that are not discretionary.
  private static func isPaused(
    _ machine: borrowing TaskMachine, _ session: borrowing TransferSession, at now: InputContext
  ) -> Bool {
    let task = machine.task
    if task.state == .suspended || machine.question != nil || task.retryWait != nil { return true }
    if task.phase == .waitingForConnectivity { return true }
    guard task.startedAt == nil, session.type == .background else { return false }
    return task.isDiscretionary || session.configuration.isDiscretionary
      || task.earliestBeginDate.map { $0 > now.wall } ?? false
  }
}
