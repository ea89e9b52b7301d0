package import HTTPCookies
package import Records
package import TransferModel

/// A set of changes that holds as a whole or not at all.
package struct StoreChange: Sendable {
  /// Conditions, all of which must hold for the change to be written.
  package var conditions: [Condition] = []
  /// The session of the change; nil if none. If another process owns the session, a request fails (`StoreError.notOwner`) and a fact is
  /// dropped.
  package var owner: SessionID?
  /// A change of ownership.
  package var ownership: OwnershipChange?
  package var sessions: [TransferSession] = []
  /// The highest taskIdentifier given out in a session.
  package var lastIdentifiers: [SessionID: Int] = [:]
  package var createdTasks: [TransferTask] = []
  package var updatedTasks: [TransferTask] = []
  /// Tasks whose description, priority, begin date or limit has changed.
  package var respecifiedTasks: [TransferTask] = []
  /// Small bodies; larger ones are files before this change is written.
  package var smallBodies: [TaskID: [UInt8]] = [:]
  /// In order. Each gets a sequence number and is kept, but for progress: that is told and forgotten.
  package var events: [TransferEvent] = []
  package var newDeliveries: [WebhookDelivery] = []
  package var updatedDeliveries: [WebhookDelivery] = []
  package var newDecisions: [Decision] = []
  package var settledDecisions: [SettledDecision] = []
  /// Credentials to be kept, each in place of what was there for its space.
  package var credentials: [StoredCredential] = []
  package var deletedCredentials: [(session: SessionID, space: ProtectionSpace)] = []
  /// Changes of the sessions' cookies, in order.
  package var cookies: [(session: SessionID, change: CookieJar.Change)] = []
  /// Named configurations, each in place of what had the name.
  package var configurations: [NamedConfiguration] = []
  package var deletedConfigurations: [ConfigurationName] = []
  package var newFiles: [StoredFile] = []
  package var deletedFiles: [FileID] = []
  package var idempotentReply: IdempotentReply?
  /// Whose tasks that reply tells of.
  package var repliedSession: SessionID?
  package var deletedSession: SessionID?
  /// A session to be deleted, of which some rows go: the whole at once would keep everybody waiting.
  package var thinnedSession: SessionID?
  /// Rows of each table that go of it at a time.
  package static let thinningSlice = 500
  /// An ephemeral session whose bodies are to go, those of requests as well, and the replies that repeats would get.
  package var wipedSession: SessionID?
  /// Records that have expired.
  package var pruning: Pruning?

  /// For the process that carries background tasks out, in order; sealed where they stand.
  package var commands: [StoredCommand] = []
  /// That process has taken the commands of these numbers.
  package var takenCommands: [ClosedRange<Int64>] = []
  /// How far it has come with its tasks, and those that it is done with.
  package var work: [StoredWork] = []
  package var finishedWork: [TaskID] = []
  /// What it has to tell, in order; sealed where it stands.
  package var news: [String] = []
  /// What it has told under these numbers is known.
  package var takenNews: [ClosedRange<Int64>] = []

  package init() {}

  /// Progress events of a session: published, never written.
  package init(progress events: [TransferEvent], of session: SessionID) {
    self.events = events
    owner = session
    isProgressOnly = true
  }
  package private(set) var isProgressOnly = false

  /// How many numbers its events take.
  package var numberCount: Int { events.count { !$0.type.isProgress } }

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
