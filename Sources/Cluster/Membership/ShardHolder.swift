package import Ledger
package import TransferModel

/// The owner of a service's sessions. The cluster notifies it of added and removed shards, and reads its state.
package protocol ShardHolder: AnyObject, Sendable {
  // MARK: Shards

  /// Reads the sessions of shards that this service owns from now on. Requests for them wait meanwhile. Called again after an error.
  /// - Returns: the number of tasks that ended because their service is dead.
  func recover(_ shards: ShardSet) async throws(LedgerError) -> Int
  /// Called when requests for the sessions of recovered shards are admitted. Webhook deliveries may be sent from now on.
  func didRecover(_ shards: ShardSet)
  /// Reads what the worker has done for the background sessions of recovered shards. Requests do not wait for it. Called again after an
  /// error.
  func catchUp(with shards: ShardSet) async throws(LedgerError)
  /// The shards in which this service carries out tasks.
  var busyShards: ShardSet { get }
  /// Whether the service is about to stop.
  var isLeaving: Bool { get }
  /// Answers the requests that wait for the end of a task in these shards with the task's present state.
  func releaseWaiters(in shards: ShardSet)
  /// Stops the tasks in these shards that another service can continue.
  func stopTasks(in shards: ShardSet)
  /// Drops the sessions of shards that another service owns now. Ephemeral sessions stay.
  func drop(_ shards: ShardSet)
  /// Reads the worker's reports, if there are any.
  func lookForNews()
  /// Reads a notification of another service. Returns when it applies to all later events and messages.
  func receive(_ notification: PeerNotification) async

  // MARK: Sessions

  /// Returns the type of a session; `nil` if the session is not in memory.
  func type(of session: SessionID) -> SessionType?
  /// Returns the session of an unfinished task; `nil` if the task is not in memory.
  func session(of task: TaskID) -> SessionID?
  /// Returns the background session that has or had a name; `nil` if it is not in memory.
  func session(named name: BackgroundSessionKey) -> SessionID?
  /// Returns the id of a tenant's shared session.
  func sharedSession(of tenant: Tenant) -> SessionID
  /// Returns a random id.
  func newSession() -> SessionID
  /// The wall clock.
  var now: Timestamp { get }
  /// Returns whether an error says that a session, task or decision does not exist.
  func isNotFound(_ error: any Error) -> Bool
}
