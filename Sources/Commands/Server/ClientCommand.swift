internal import ArgumentParser
internal import FerryClient
internal import Glibc
internal import JSON

/// A command that sends requests to one service.
protocol ClientCommand: AsyncParsableCommand {
  var service: ServerOptions { get }
  func run(_ connection: ServiceConnection) async throws(CommandFailure)
}

extension ClientCommand {
  func run() async throws {
    signal(SIGPIPE, SIG_IGN)
    let connection = try service.connection()
    let result: Result<Void, CommandFailure>
    do throws(CommandFailure) { result = .success(try await run(connection)) } catch {
      result = .failure(error)
    }
    await connection.close()
    try result.get()
  }
}

extension ServiceEvents {
  /// Passes the elements to `body`, until it returns a value.
  func first<Value>(
    _ body: (Element) throws(CommandFailure) -> Value?
  ) async throws(CommandFailure) -> Value? {
    var iterator = makeAsyncIterator()
    while true {
      let element: Element?
      do throws(ServiceError) { element = try await iterator.next() } catch { throw CommandFailure(error) }
      guard let element else { return nil }
      if let value = try body(element) { return value }
    }
  }
}

extension ServiceRequest {
  /// Makes the request of a command for one task.
  /// - Parameter verb: `cancel`, `suspend`, `resume`, `retry` or `delete`.
  static func command(_ verb: String, task: String) -> ServiceRequest {
    verb == "delete"
      ? ServiceRequest("DELETE", "/v1/tasks/\(task)") : ServiceRequest("POST", "/v1/tasks/\(task)/\(verb)")
  }
}

extension ServiceConnection {
  /// Sends a request of a command, and returns the reply as JSON; `null` for an empty reply.
  func reply(_ request: ServiceRequest) async throws(CommandFailure) -> JSONValue {
    try await CommandFailure.converting { () async throws(ServiceError) in
      let reply = try await send(request)
      return reply.bytes.isEmpty ? .null : try reply.json()
    }
  }

  /// Returns the items of a list, page by page.
  /// - Parameter limit: the most items.
  func items(
    _ path: String, _ query: [(name: String, value: String)] = [], upTo limit: Int
  ) async throws(CommandFailure) -> [JSONValue] {
    try await ServicePages.items(path, query, upTo: limit, invalid: { CommandFailure($0) }) {
      (request) async throws(CommandFailure) in
      try await reply(request)
    }
  }
}
