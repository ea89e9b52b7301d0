internal import FoundationEssentials
internal import GRDB
internal import JSON
internal import TransferModel

/// What the first versions stored in clear: sealed where it is still needed, else taken out.
struct PlaintextSecrets {
  let database: Database
  let box: SecretBox

  /// The fields that were known as secret when documents of version 1 were written.
  static func isSecret(_ name: String) -> Bool {
    HTTPHeaders.equal(name, "Authorization") || HTTPHeaders.equal(name, "Proxy-Authorization")
  }

  func remove() throws {
    try rewrite("session", "document", where: Self.mayHoldSecrets) { document in
      document.replacing(at: ["configuration", "httpAdditionalHeaders"], Self.isSecret, seal)
        .replacing(at: ["delegate", "webhook"], { $0 == "secret" }, seal)
    }
    try rewrite("task", "specification", where: Self.mayHoldSecrets) { document in
      document.replacing(at: ["request", "headers"], Self.isSecret, seal)
        .replacing(at: ["completion"], { $0 == "secret" }, seal)
    }
    try rewrite("task", "outcome", where: Self.mayHoldSecrets) { document in
      document.replacing(at: ["currentRequest", "headers"], Self.isSecret, seal)
    }
    try rewrite("delivery", "secret", where: "# IS NOT NULL") { text in
      let secret = String(decoding: text, as: UTF8.self)
      let sealed = seal(secret)
      return sealed == secret ? nil : Array(sealed.utf8)
    }
    for (table, column, key) in [
      ("journal", "stream", "first"), ("decision", "arguments", "id"), ("decision", "answer", "id"),
      ("delivery", "payload", "id"), ("idempotency", "body", "key"),
    ] {
      try rewrite(table, column, key: key, where: Self.mayNameSomebody, Self.redact)
    }
    try rewrite("idempotency", "fingerprint", key: "key", where: "# IS NOT NULL") {
      box.requests.digests(of: $0).first
    }
  }

  /// Conditions that are cheap, and let too much through rather than too little; `#` is the column.
  private static let mayNameSomebody = "CAST(# AS TEXT) LIKE '%authorization\":\"%'"
  private static let mayHoldSecrets = "(# LIKE '%authorization\":\"%' OR # LIKE '%\"secret\":\"%')"

  private func seal(_ text: String) -> String {
    let isSealed = text.hasPrefix("sealed:") && box.open(text) != nil
    return isSealed ? text : box.seal(text)
  }

  /// With the values of such headers taken out, wherever they stand.
  private static func redact(_ text: [UInt8]) -> [UInt8]? {
    JSONStrings.replacing(in: text) { value, name in
      let isSecret = isSecret(String(decoding: name, as: UTF8.self))
      return isSecret && !value.elementsEqual(HTTPHeaders.redaction.utf8) ? HTTPHeaders.redaction : nil
    }
  }

  private func rewrite(
    _ table: String, _ column: String, where condition: String, _ change: (JSONValue) -> JSONValue
  ) throws {
    try rewrite(table, column, where: condition) { text in
      guard let document = try? JSONParser.parse(text) else { return nil }
      let changed = change(document)
      return changed == document ? nil : changed.json
    }
  }

  /// - Parameter change: returns what is to stand there instead, or nil.
  private func rewrite(
    _ table: String, _ column: String, key: String = "id", where condition: String,
    _ change: ([UInt8]) -> [UInt8]?
  ) throws {
    let condition = condition.replacing("#", with: column)
    let keys = try DatabaseValue.fetchAll(database, sql: "SELECT \(key) FROM \(table) WHERE \(condition)")
    for value in keys {
      let row = try Row.fetchOne(
        database, sql: "SELECT \(column) FROM \(table) WHERE \(key) = ?", arguments: [value])
      guard let old = row?.optionalBytes(column), let new = change(old) else { continue }
      let stored: DatabaseValue? = row?[column]
      let isText = if case .string = stored?.storage { true } else { false }
      try database.execute(
        sql: "UPDATE \(table) SET \(column) = ? WHERE \(key) = ?",
        arguments: [
          isText ? String(decoding: new, as: UTF8.self).databaseValue : Data(new).databaseValue, value,
        ])
      try Overwritten.mark(database)
    }
  }
}

extension JSONValue {
  /// With other values for the strings among the members, of those names, of the object at `path`.
  fileprivate func replacing(
    at path: ArraySlice<String>, _ isWanted: (String) -> Bool, _ replace: (String) -> String
  ) -> JSONValue {
    guard let members else { return self }
    return .object(
      members.map { member in
        if let next = path.first {
          guard member.name == next else { return member }
          return Member(name: next, value: member.value.replacing(at: path.dropFirst(), isWanted, replace))
        }
        guard isWanted(member.name), let text = member.value.string else { return member }
        return Member(name: member.name, value: .string(replace(text)))
      })
  }
}
