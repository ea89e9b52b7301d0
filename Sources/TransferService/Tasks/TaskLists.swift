internal import Ledger
internal import Limits
internal import TransferCore
package import TransferModel

/// A page of a list of tasks.
package struct TaskPage: Sendable {
  package var tasks: [TransferTask] = []
  /// The last task that the page has looked at, if there may be others after it.
  package var end: TaskID?
}

/// Lists of tasks.
struct TaskLists: Sendable {
  /// The rows that are read at once to search their texts.
  private static let rowsAtOnce = 500

  let tasks: Tasks

  private var runtime: SessionRuntime { tasks.runtime }
  private var store: any Ledger { runtime.recorder.store }

  /// Returns at most `query.limit` tasks. A search of texts looks at a limited number of tasks, so its page may have fewer tasks although
  /// others follow.
  func page(_ query: TaskQuery) async throws(ServiceError) -> TaskPage {
    if case .session(let session) = query.scope { _ = try tasks.sessions.session(session) }
    guard query.filter.searchesTexts else {
      let found = try await rows(query, limit: query.limit + 1)
      let page = Array(found.prefix(query.limit))
      return TaskPage(tasks: current(page), end: found.count > page.count ? page.last?.id : nil)
    }
    var (page, query, cost) = (TaskPage(), query, 0)
    while true {
      let found = try await rows(query, limit: Self.rowsAtOnce)
      for task in found {
        query.after = task.id
        cost += TaskFilter.searchCost(of: task)
        if query.filter.matchesTexts(of: task) { page.tasks.append(task) }
        // Tasks in memory are few, and another service merges their pages.
        guard page.tasks.count < query.limit, query.isOfMemory || cost < Limits.searchedTasks.value else {
          page.end = task.id
          break
        }
      }
      if page.end != nil || found.count < Self.rowsAtOnce { break }
    }
    page.tasks = current(page.tasks)
    return page
  }

  private func rows(_ query: TaskQuery, limit: Int) async throws(ServiceError) -> [TransferTask] {
    var query = query
    query.limit = limit
    do throws(LedgerError) { return try await store.tasks(query) } catch { throw .store(error) }
  }

  /// Returns the tasks in their current state. This service knows that state for its own sessions; tasks of sessions in other services
  /// keep the state of their rows.
  private func current(_ stored: [TransferTask]) -> [TransferTask] {
    var stored = stored
    let unfinished = stored.indices.filter { stored[$0].state != .completed }
    for (session, places) in Dictionary(grouping: unfinished, by: { stored[$0].sessionID }) {
      let ids = places.map { stored[$0].id }
      let known = runtime.read(at: session) { machine in ids.map { machine.task($0)?.task } }
      for (place, task) in zip(places, known ?? []) { if let task { stored[place] = task } }
    }
    return stored
  }
}
