public import FoundationEssentials
internal import JSON
internal import Synchronization

/// The properties of a task that a program sets before `resume()`.
struct TaskOptions: Sendable {
  var priority: Float = 0.5
  var description: String?
  var earliestBeginDate: Date?
  var expectsToSend: Int64 = -1
  var expectsToReceive: Int64 = -1
  var prefersIncrementalDelivery: Bool?
  var group: String?
  var labels: [String: String] = [:]
  var expected: FerryExpectedBody?
  var retry: FerryRetry?
  var failOnStatus = false
  var maximumBytesPerSecond: Int64?
  var completionWebhook: FerryCompletionWebhook?
  var destination: FerryDestination?

  init() {}

  /// Reads the options of a task of an earlier run.
  init(_ json: JSONValue) {
    priority = json["priority"]?.double.map { Float($0) } ?? priority
    description = json["description"]?.string
    earliestBeginDate = json["earliestBeginDate"]?.date
    expectsToSend = json["countOfBytesClientExpectsToSend"]?.integer ?? -1
    expectsToReceive = json["countOfBytesClientExpectsToReceive"]?.integer ?? -1
    prefersIncrementalDelivery = json["prefersIncrementalDelivery"]?.bool
    group = json["group"]?.string
    labels = json["labels"]?.stringMembers ?? [:]
    maximumBytesPerSecond = json["maximumBytesPerSecond"]?.integer
  }

  /// Writes the members of a task.
  func encode(into writer: inout JSONWriter) {
    if priority != 0.5 { writer.field("priority", Double(priority)) }
    if let description { writer.field("description", description) }
    if let earliestBeginDate { writer.field("earliestBeginDate", date: earliestBeginDate) }
    if expectsToSend >= 0 { writer.field("countOfBytesClientExpectsToSend", expectsToSend) }
    if expectsToReceive >= 0 { writer.field("countOfBytesClientExpectsToReceive", expectsToReceive) }
    if let prefersIncrementalDelivery {
      writer.field("prefersIncrementalDelivery", prefersIncrementalDelivery)
    }
    if let group { writer.field("group", group) }
    if !labels.isEmpty { writer.field("labels", strings: labels) }
    if let expected {
      writer.objectField("expected") { writer in
        if let size = expected.size { writer.field("size", size) }
        if let sha256 = expected.sha256 { writer.field("sha256", sha256) }
      }
    }
    if let retry {
      writer.key("retry")
      retry.encode(into: &writer)
    }
    if failOnStatus { writer.field("failOnStatus", true) }
    if let maximumBytesPerSecond { writer.field("maximumBytesPerSecond", maximumBytesPerSecond) }
    if let destination {
      writer.objectField("destination") { writer in
        writer.field("file", destination.file)
        writer.field("ifExists", destination.ifExists.rawValue)
      }
    }
    if let completionWebhook {
      writer.objectField("completion") { writer in
        writer.objectField("webhook") { writer in
          writer.field("url", completionWebhook.url.absoluteString)
          if let secret = completionWebhook.secret { writer.field("secret", secret) }
        }
      }
    }
  }
}

/// The body that a task must receive. Another body ends the task with `FerryError.contentMismatch`. Ferry's own addition.
public struct FerryExpectedBody: Sendable, Hashable {
  /// The size in bytes; `nil` for any.
  public var size: Int64?
  /// The SHA-256 digest in hexadecimal; `nil` for any.
  public var sha256: String?
  /// Creates an expectation.
  public init(size: Int64? = nil, sha256: String? = nil) {
    self.size = size
    self.sha256 = sha256
  }
}

extension FerrySessionTask {
  /// A priority of 0.25.
  public static let lowPriority: Float = 0.25
  /// A priority of 0.5.
  public static let defaultPriority: Float = 0.5
  /// A priority of 0.75.
  public static let highPriority: Float = 0.75

  /// The priority, from 0 to 1.
  public var priority: Float {
    get { shared.withLock { $0.options.priority } }
    set { shared.withLock { $0.options.priority = newValue } }
  }
  /// A description for people.
  public var taskDescription: String? {
    get { shared.withLock { $0.options.description } }
    set { shared.withLock { $0.options.description = newValue } }
  }
  /// The time before which the service sends nothing.
  public var earliestBeginDate: Date? {
    get { shared.withLock { $0.options.earliestBeginDate } }
    set { shared.withLock { $0.options.earliestBeginDate = newValue } }
  }
  /// The program's estimate of the body to send, in bytes; -1 if there is none.
  public var countOfBytesClientExpectsToSend: Int64 {
    get { shared.withLock { $0.options.expectsToSend } }
    set { shared.withLock { $0.options.expectsToSend = newValue } }
  }
  /// The program's estimate of the body to receive, in bytes; -1 if there is none.
  public var countOfBytesClientExpectsToReceive: Int64 {
    get { shared.withLock { $0.options.expectsToReceive } }
    set { shared.withLock { $0.options.expectsToReceive = newValue } }
  }
  /// Whether the delegate receives the body while it arrives. `nil` stands for the default of the task's kind.
  public var prefersIncrementalDelivery: Bool? {
    get { shared.withLock { $0.options.prefersIncrementalDelivery } }
    set { shared.withLock { $0.options.prefersIncrementalDelivery = newValue } }
  }
  /// The group that the task belongs to. Ferry's own addition.
  public var group: String? {
    get { shared.withLock { $0.options.group } }
    set { shared.withLock { $0.options.group = newValue } }
  }
  /// The labels by which lists find the task. Ferry's own addition.
  public var labels: [String: String] {
    get { shared.withLock { $0.options.labels } }
    set { shared.withLock { $0.options.labels = newValue } }
  }
  /// The body that the task must receive. Ferry's own addition.
  public var expected: FerryExpectedBody? {
    get { shared.withLock { $0.options.expected } }
    set { shared.withLock { $0.options.expected = newValue } }
  }
  /// The retries of the task; `nil` for those of the session. Ferry's own addition.
  public var retry: FerryRetry? {
    get { shared.withLock { $0.options.retry } }
    set { shared.withLock { $0.options.retry = newValue } }
  }
  /// Whether a status of 400 or more is an error. Ferry's own addition.
  public var failOnStatus: Bool {
    get { shared.withLock { $0.options.failOnStatus } }
    set { shared.withLock { $0.options.failOnStatus = newValue } }
  }
  /// The maximum rate of the task in bytes a second; `nil` for none. Ferry's own addition.
  public var maximumBytesPerSecond: Int64? {
    get { shared.withLock { $0.options.maximumBytesPerSecond } }
    set { shared.withLock { $0.options.maximumBytesPerSecond = newValue } }
  }
  /// The receiver of one message when the task has ended, also if this program does not run. Ferry's own addition.
  public var completionWebhook: FerryCompletionWebhook? {
    get { shared.withLock { $0.options.completionWebhook } }
    set { shared.withLock { $0.options.completionWebhook = newValue } }
  }
}

extension FerrySessionDownloadTask {
  /// The file on the service's machine that the download becomes. The delegate receives this file, and the client makes no copy. Ferry's
  /// own addition.
  public var destination: FerryDestination? {
    get { shared.withLock { $0.options.destination } }
    set { shared.withLock { $0.options.destination = newValue } }
  }
}
