package import HTTPCookies
package import Records
package import TransferModel

/// A set of changes that is written whole or not at all.
package struct LedgerChange: Sendable {
  /// Conditions, all of which must be met for the change to be written.
  package var conditions: [ChangeCondition] = []
  /// The session of the change; `nil` if it has none. If another process owns the session, a request fails (`LedgerError.notOwner`) and a
  /// fact is dropped.
  package var owner: SessionID?
  package var ownership: OwnershipChange?
  package var sessions: [TransferSession] = []
  /// The highest `taskIdentifier` of each session.
  package var lastIdentifiers: [SessionID: Int] = [:]
  package var createdTasks: [TransferTask] = []
  package var updatedTasks: [TransferTask] = []
  /// Tasks that a client has edited: description, priority, begin date, rate limit or preferences.
  package var editedTasks: [TransferTask] = []
  /// Small bodies. Larger ones are blobs that are written before this change.
  package var smallBodies: [TaskID: [UInt8]] = [:]
  /// Events in order. Each gets a sequence number and is stored, except progress, which is only published.
  package var events: [TransferEvent] = []
  /// The groups and labels of the tasks in `events`. Tasks without any are absent.
  package var tags: [TaskID: TaskTags] = [:]
  package var newDeliveries: [WebhookDelivery] = []
  package var updatedDeliveries: [WebhookDelivery] = []
  /// Endpoints; each replaces the one with its id.
  package var endpoints: [WebhookEndpoint] = []
  package var deletedEndpoints: [EndpointID] = []
  package var newDecisions: [Decision] = []
  package var settledDecisions: [SettledDecision] = []
  /// Credentials to store; each replaces the one of its protection space.
  package var credentials: [StoredCredential] = []
  package var deletedCredentials: [(session: SessionID, space: ProtectionSpace)] = []
  /// Changes of the sessions' cookies, in order.
  package var cookies: [(session: SessionID, change: CookieJar.Change)] = []
  /// Named configurations; each replaces the one with its name.
  package var configurations: [NamedConfiguration] = []
  package var deletedConfigurations: [ConfigurationName] = []
  package var newFiles: [StoredFile] = []
  package var deletedFiles: [FileID] = []
  package var idempotentReply: IdempotentReply?
  /// The session that the reply is about.
  package var repliedSession: SessionID?
  /// Groups that accept no new tasks from now on. A group that is closed already keeps its time.
  package var closedGroups: [(group: TaskGroupKey, time: Timestamp)] = []
  /// Groups whose end is stored, with their counts.
  package var completedGroups: [TaskGroup] = []
  /// Ended tasks that are deleted with their decisions and events. Their deliveries stay, so that pending ones are still sent.
  package var deletedTasks: [TaskID] = []
  package var deletedSession: SessionID?
  /// A session some of whose rows are deleted. Deleting all rows at once would block other writers.
  package var partlyDeletedSession: SessionID?
  /// The most rows of each table that are deleted at once.
  package static let thinningSlice = 500
  /// An ephemeral session whose stored bodies, request bodies and replies are deleted.
  package var sessionOfDeletedBodies: SessionID?
  /// Expired records to be deleted.
  package var pruning: Pruning?

  /// Commands for the worker, in order. The durable ledger seals them.
  package var commands: [StoredCommand] = []
  /// The numbers of the commands that the worker has consumed.
  package var takenCommands: [ClosedRange<Int64>] = []
  /// The worker's state of each task.
  package var work: [StoredWork] = []
  /// Tasks that the worker has finished.
  package var finishedWork: [TaskID] = []
  /// Reports of the worker, in order. The durable ledger seals them.
  package var workerReports: [String] = []
  /// The numbers of the reports that the service has consumed.
  package var consumedReports: [ClosedRange<Int64>] = []

  package init() {}

  /// Creates a change of progress events of a session, which are published but never stored.
  package init(progress events: [TransferEvent], of session: SessionID, _ tags: [TaskID: TaskTags] = [:]) {
    self.events = events
    self.tags = tags
    owner = session
    isProgressOnly = true
  }
  package private(set) var isProgressOnly = false

  /// How many sequence numbers the events need.
  package var numberCount: Int { events.count { !$0.type.isProgress } }

  /// Whether there is nothing to write.
  package var isEmpty: Bool {
    ownership == nil && sessions.isEmpty && lastIdentifiers.isEmpty && createdTasks.isEmpty
      && updatedTasks.isEmpty
      && editedTasks.isEmpty && events.isEmpty && newDeliveries.isEmpty && updatedDeliveries.isEmpty
      && endpoints.isEmpty && deletedEndpoints.isEmpty && newDecisions.isEmpty && settledDecisions.isEmpty
      && credentials.isEmpty
      && deletedCredentials.isEmpty && cookies.isEmpty && configurations.isEmpty
      && deletedConfigurations.isEmpty && newFiles.isEmpty && deletedFiles.isEmpty && idempotentReply == nil
      && closedGroups.isEmpty && completedGroups.isEmpty && deletedTasks.isEmpty && deletedSession == nil
      && partlyDeletedSession == nil
      && sessionOfDeletedBodies == nil
      && pruning == nil
      && commands.isEmpty && takenCommands.isEmpty
      && work.isEmpty && finishedWork.isEmpty && workerReports.isEmpty && consumedReports.isEmpty
  }
}
