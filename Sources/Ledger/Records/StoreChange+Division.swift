internal import Synchronization
package import TransferModel

/// The sessions of which nothing may reach the disk.
package final class EphemeralSessions: Sendable {
  private let ids = Mutex<Set<SessionID>>([])

  package init() {}

  package var isEmpty: Bool { ids.withLock { $0.isEmpty } }
  package func contains(_ id: SessionID) -> Bool { ids.withLock { $0.contains(id) } }
  package func insert(_ id: SessionID) { ids.withLock { _ = $0.insert(id) } }
}

extension StoreChange {
  /// A change in two parts: what is for the disk, and what is for memory alone.
  package struct Division {
    package var disk: StoreChange
    package var memory: StoreChange?
  }

  /// What of this change may be written to the disk, and what may not. The order of each session's events stays.
  package func divided(by ephemeral: EphemeralSessions) -> Division {
    for session in sessions where session.type == .ephemeral { ephemeral.insert(session.id) }
    guard !ephemeral.isEmpty, !isProgressOnly else { return Division(disk: self, memory: nil) }
    var (disk, memory) = (self, self)
    disk.keep { !ephemeral.contains($0) }
    memory.keep { ephemeral.contains($0) }
    memory.dropSecrets()
    // What is a client's file, or names no session, was asked for by itself.
    (memory.newFiles, memory.deletedFiles) = ([], [])
    (memory.ownership, memory.owner) = (nil, nil)
    if let owner, ephemeral.contains(owner) { disk.owner = nil }
    if pruning?.place == .memory { disk.pruning = nil }
    (memory.configurations, memory.deletedConfigurations) = ([], [])
    (memory.takenCommands, memory.takenNews, memory.finishedWork, memory.news) = ([], [], [], [])
    let isOfMemory = !memory.sessions.isEmpty || repliedSession.map { ephemeral.contains($0) } ?? false
    if isOfMemory {
      disk.idempotentReply = nil
    } else {
      memory.idempotentReply = nil
    }
    disk.conditions.removeAll { $0.isOfMemory(ephemeral, isReplied: isOfMemory) }
    memory.conditions.removeAll { !$0.isOfMemory(ephemeral, isReplied: isOfMemory) }
    return Division(disk: disk, memory: memory.isEmpty ? nil : memory)
  }

  /// Whether it is refused where memory has something.
  package func dependsOnMemory(_ ephemeral: EphemeralSessions) -> Bool {
    !conditions.isEmpty && divided(by: ephemeral).memory?.conditions.isEmpty == false
  }

  private mutating func keep(_ isWanted: (SessionID) -> Bool) {
    let tasks = Dictionary(
      updatedTasks.lazy.map { ($0.id, $0.sessionID) }, uniquingKeysWith: { first, _ in first })
    sessions.removeAll { !isWanted($0.id) }
    lastIdentifiers = lastIdentifiers.filter { isWanted($0.key) }
    createdTasks.removeAll { !isWanted($0.sessionID) }
    updatedTasks.removeAll { !isWanted($0.sessionID) }
    respecifiedTasks.removeAll { !isWanted($0.sessionID) }
    smallBodies = smallBodies.filter { tasks[$0.key].map(isWanted) ?? false }
    events.removeAll { !isWanted($0.sessionID) }
    newDeliveries.removeAll { !isWanted($0.sessionID) }
    updatedDeliveries.removeAll { !isWanted($0.sessionID) }
    newDecisions.removeAll { !isWanted($0.sessionID) }
    settledDecisions.removeAll { !isWanted($0.sessionID) }
    credentials.removeAll { !isWanted($0.session) }
    deletedCredentials.removeAll { !isWanted($0.session) }
    cookies.removeAll { !isWanted($0.session) }
    commands.removeAll { !isWanted($0.session) }
    work.removeAll { !isWanted($0.session) }
    if let session = deletedSession, !isWanted(session) { deletedSession = nil }
    if let session = thinnedSession, !isWanted(session) { thinnedSession = nil }
    if let session = wipedSession, !isWanted(session) { wipedSession = nil }
  }

  /// Cookies and credentials of such sessions are where they are used, and nowhere else.
  private mutating func dropSecrets() {
    (credentials, deletedCredentials, cookies) = ([], [], [])
  }

  /// Nothing is to be written.
  package var isEmpty: Bool {
    ownership == nil && sessions.isEmpty && lastIdentifiers.isEmpty && createdTasks.isEmpty
      && updatedTasks.isEmpty
      && respecifiedTasks.isEmpty && events.isEmpty && newDeliveries.isEmpty && updatedDeliveries.isEmpty
      && newDecisions.isEmpty && settledDecisions.isEmpty && credentials.isEmpty
      && deletedCredentials.isEmpty && cookies.isEmpty && configurations.isEmpty
      && deletedConfigurations.isEmpty && newFiles.isEmpty && deletedFiles.isEmpty && idempotentReply == nil
      && deletedSession == nil && thinnedSession == nil && wipedSession == nil && pruning == nil
      && commands.isEmpty && takenCommands.isEmpty
      && work.isEmpty && finishedWork.isEmpty && news.isEmpty && takenNews.isEmpty
  }
}
