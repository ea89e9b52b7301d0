package import TransferModel

/// One unfinished task: what its clients were told of it, and what they are told next. A plain value.
///
/// What is being tried for the task is known where it is carried out, and joined to this by orders and facts.
package struct TaskMachine: Sendable {
  /// As clients see it. A task that is ending is shown as it was, until its end holds.
  package internal(set) var task: TransferTask
  /// The delegate call that waits for an answer. An idle task asks whether it may begin.
  package internal(set) var question: Question?
  var upload = TaskUpload.none
  /// How often it was changed.
  var revision = 0

  /// - Parameter place: where a task that was just created, or that an earlier process left, is.
  package init(_ task: TransferTask, at place: TaskPlace) {
    self.task = task
    self.task.place = place
  }

  var id: TaskID { task.id }

  package internal(set) var place: TaskPlace {
    get { task.place }
    set {
      assert(place.mayBecome(newValue), "invalid transition: \(place) to \(newValue)")
      task.place = newValue
    }
  }

  package var isCreating: Bool { if case .creating = place { true } else { false } }
  package var isEnding: Bool { if case .ending = place { true } else { false } }
  /// Not submitted, without a pending decision.
  var isIdle: Bool { if case .idle = place { question == nil } else { false } }
  /// Whether the task stays in memory for long: it is submitted, or its delegate is asked whether it may begin.
  var isResident: Bool { place.isSubmitted || question != nil }

  /// The engine is told to stop. Its question must be settled.
  mutating func leave() {
    assert(question == nil)
    place = .leaving
  }
}
