package import TransferModel

/// One unfinished task: what its clients were told of it, and what they are told next. A plain value.
///
/// What is being tried for the task is known where it is carried out, and joined to this by orders and facts.
package struct TaskMachine: Sendable {
  /// As clients see it. A task that is ending is shown as it was, until its end holds.
  package internal(set) var task: TransferTask
  package internal(set) var place: TaskPlace
  var upload = TaskUpload.none
  /// How often it was changed.
  var revision = 0

  /// - Parameter place: where a task that was just created, or that an earlier process left, is.
  package init(_ task: TransferTask, at place: TaskPlace) {
    self.task = task
    self.place = place
  }

  var id: TaskID { task.id }

  package var question: Question? { place.question }
  package var isCreating: Bool { place.isCreating }
  package var isEnding: Bool { place.isEnding }
}
