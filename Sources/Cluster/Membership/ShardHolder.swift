package import Ledger
package import TransferModel

/// The part of a service that holds its sessions. The cluster tells it which shards it gets and gives away, and asks it what it has.
package protocol ShardHolder: AnyObject, Sendable {
  // MARK: Shards

  /// Reads the sessions of shards that this service owns from now on. Requests for them wait meanwhile. Called again if it fails.
  /// - Returns: how many tasks ended because the service that carried them out is gone.
  func recover(_ shards: ShardSet) async throws(StoreError) -> Int
  /// Requests for the sessions of recovered shards are let in: their webhook messages can be sent.
  func didRecover(_ shards: ShardSet)
  /// Finds out what the worker did for the background sessions of recovered shards. Requests do not wait for it. Called again if it
  /// fails.
  func catchUp(with shards: ShardSet) async throws(StoreError)
  /// The shards in which this service carries out tasks.
  var busyShards: ShardSet { get }
  /// Whether the service is about to stop.
  var isLeaving: Bool { get }
  /// Answers the requests that wait for the end of a task in these shards with the task's present state.
  func releaseWaiters(in shards: ShardSet)
  /// Stops the tasks in these shards that another service can continue.
  func stopTasks(in shards: ShardSet)
  /// Drops the sessions of shards that another service owns now. Ephemeral sessions stay.
  func forget(_ shards: ShardSet)
  /// Reads the worker's news, if any.
  func lookForNews()

  // MARK: Sessions

  /// The type of a session; nil if it is not in memory.
  func type(of session: SessionID) -> SessionType?
  /// The session of an unfinished task; nil if it is not in memory.
  func session(of task: TaskID) -> SessionID?
  /// The background session that has or had a name; nil if it is not in memory.
  func session(named name: BackgroundName) -> SessionID?
  /// The id of a tenant's shared session.
  func sharedSession(of tenant: Tenant) -> SessionID
  /// A random id.
  func newSession() -> SessionID
  /// The wall clock.
  var now: Timestamp { get }
  /// Whether an error says that a session, task or decision does not exist.
  func isNotFound(_ error: any Error) -> Bool
}
