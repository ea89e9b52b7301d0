internal import FerryClient
internal import JSON
internal import Limits

/// Identifiers as people type them: whole, a unique prefix, or the last 8 or more characters, which are random.
enum ShortID {
  /// The length of a whole identifier, such as `tsk_` with a UUID.
  private static let length = 40
  private static let shown = 8
  /// The most matches that an error lists.
  private static let listed = ClientLimits.listedMatches.value

  /// The form that lists print.
  static func of(_ id: String) -> String { String(id.suffix(shown)) }

  /// Whether a text is a whole identifier of a kind of resource.
  static func isWhole(_ text: String, _ prefix: String) -> Bool {
    text.hasPrefix(prefix) && text.utf8.count == length
  }

  /// Returns the identifiers of tasks.
  static func tasks(_ texts: [String], on connection: ServiceConnection) async throws(CommandFailure)
    -> [String]
  {
    var ids: [String] = []
    for text in texts { ids.append(try await task(text, on: connection)) }
    return ids
  }

  static func task(_ text: String, on connection: ServiceConnection) async throws(CommandFailure) -> String {
    guard !isWhole(text, "tsk_") else { return text }
    let digits = text.hasPrefix("tsk_") ? text.dropFirst(4) : text[...]
    guard digits.filter({ $0 != "-" }).count >= shown, digits.allSatisfy({ $0.isHexDigit || $0 == "-" })
    else {
      throw CommandFailure(
        .usage,
        "'\(text)' is not the id of a task; use its last 8 or more characters, as `ferry ls` prints them")
    }
    let found = try await connection.items("/v1/tasks", [("id", text)], upTo: listed + 1)
    return try single(found.compactMap { $0["id"]?.string }, for: text, "task")
  }

  /// Returns the whole identifier of another resource in a list.
  static func match(_ text: String, in items: [JSONValue], _ noun: String) throws(CommandFailure) -> String {
    let ids = items.compactMap { $0["id"]?.string }
    guard text.count >= shown else {
      throw CommandFailure(.usage, "'\(text)' is too short; use the last 8 or more characters of the id")
    }
    return try single(ids.filter { $0.hasPrefix(text) || $0.hasSuffix(text) }, for: text, noun)
  }

  private static func single(_ ids: [String], for text: String, _ noun: String) throws(CommandFailure)
    -> String
  {
    guard let id = ids.first else { throw CommandFailure(.refused, "no \(noun) has the id '\(text)'") }
    guard ids.count == 1 else {
      let list = ids.prefix(listed).joined(separator: ", ")
      throw CommandFailure(.usage, "'\(text)' matches several ids: \(list)\(ids.count > listed ? ", …" : "")")
    }
    return id
  }
}
