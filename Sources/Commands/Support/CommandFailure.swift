package import FerryClient

/// The failure of a command of the client, with the cause that its exit status reports.
package struct CommandFailure: Error, Sendable, CustomStringConvertible {
  /// The causes, by exit status.
  package enum Cause: Int32, Sendable, Equatable {
    case network = 1
    case unreachable = 2
    case file = 3
    case status = 4
    case mismatch = 5
    case refused = 6
    case timedOut = 7
    case usage = 64
    case settings = 78
    case interrupted = 130
    /// The reader of standard output has gone. A shell shows the same status for a process that SIGPIPE has ended.
    case closedPipe = 141
  }

  package let cause: Cause
  /// The line for standard error; `nil` if the command has printed its own.
  package let message: String?

  package init(_ cause: Cause, _ message: String? = nil) {
    self.cause = cause
    self.message = message
  }

  /// The failure of a request to the service.
  package init(_ error: ServiceError) {
    switch error {
    case .problem(let problem) where problem.status == 401:
      self.init(
        .refused,
        "\(problem.description); give a token with FERRY_TOKEN, with `ferry context add`, or with --token-file"
      )
    case .problem(let problem) where problem.status < 500: self.init(.refused, problem.description)
    case .problem, .invalidReply, .unreachable: self.init(.unreachable, error.description)
    case .timedOut: self.init(.unreachable, error.description)
    case .unreadableBody: self.init(.file, error.description)
    case .cancelled: self.init(.interrupted)
    }
  }

  package var description: String { message ?? "" }

  /// Runs a request of the client, and converts its errors.
  static func converting<Value>(_ body: () async throws(ServiceError) -> Value) async throws(CommandFailure)
    -> Value
  {
    do throws(ServiceError) { return try await body() } catch { throw CommandFailure(error) }
  }
}
