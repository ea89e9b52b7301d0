internal import Synchronization
internal import TransferEngine
package import TransferModel
internal import TransferStore

extension TransferService {
  /// Resume data of a failed or cancelled download; nil where it left nothing to go on from.
  package func resumeData(of id: TaskID) async throws(ServiceError) -> String? {
    let task = try await task(id)
    return resumeData(of: task)
  }

  func resumeData(of task: TransferTask) -> String? {
    guard task.state == .completed, let point = task.partial, task.partialExpiresAt ?? now >= now else {
      return nil
    }
    return resumeSealer.seal(task.originalRequest, point)
  }

  /// A download's specification from resume data. Data that is not this service's makes a task that ends as soon as it
  /// runs, as URLSession's does.
  package func specification(resuming data: String) -> TaskSpecification {
    guard let (request, point) = resumeSealer.open(data) else {
      var specification = TaskSpecification(kind: .download, request: TransferRequest(url: ""))
      specification.hasInvalidResumeData = true
      return specification
    }
    var specification = TaskSpecification(kind: .download, request: request)
    specification.resumePoint = point
    return specification
  }

  /// Drops what downloads left to go on from where their tasks are gone.
  func removeOrphanedPartials() async throws(StoreError) {
    // What is being received elsewhere has its place in no row yet.
    for id in notElsewhere(bodies.partials()) {
      if try await store.task(id)?.partial == nil { bodies.removePartial(id) }
    }
  }
}
