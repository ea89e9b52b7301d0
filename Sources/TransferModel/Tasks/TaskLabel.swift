package import JSON
internal import Limits

/// A label of a task: a key and a value that the client chose.
package struct TaskLabel: Sendable, Hashable {
  @ExactText package private(set) var key: String
  @ExactText package private(set) var value: String

  package init(key: String, value: String) { (self.key, self.value) = (key, value) }

  /// Parses `key:value`. The key ends at the first colon; `nil` if there is none.
  package init?(_ text: String) {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    self.init(key: String(text[..<colon]), value: String(text[text.utf8.index(after: colon)...]))
  }

  /// `key:value`. The text is unique, because a key has no colon.
  package var text: String { "\(key):\(value)" }
}

extension TaskLabel {
  /// Reads an object of labels, sorted by key. Wrong labels are violations.
  package static func read(_ reader: inout ObjectReader, _ name: String) -> [TaskLabel] {
    guard let value = reader.value(name) else { return [] }
    guard let members = value.members else {
      reader.reject(name, "must be an object of strings, not \(value.kind)")
      return []
    }
    guard members.count <= Limits.labels.value else {
      reader.exceed(name, "must have at most \(Limits.labels.value) labels, not \(members.count)")
      return []
    }
    var labels = ObjectReader(value, at: reader.pointer(to: name), reader.violations)
    var found: [TaskLabel] = []
    for member in members {
      let key = String(member.name)
      guard let value = labels.string(key, upTo: Limits.labelValueBytes.value), isKey(key, &labels) else {
        continue
      }
      found.append(TaskLabel(key: key, value: value))
    }
    return found.sorted { $0.key < $1.key }
  }

  private static func isKey(_ key: String, _ labels: inout ObjectReader) -> Bool {
    if key.isEmpty || key.utf8.contains(UInt8(ascii: ":")) {
      labels.reject(key, "the key must have at least one byte, and no colon")
      return false
    }
    if key.utf8.count > Limits.labelKeyBytes.value {
      labels.exceed(
        key, "the key must have at most \(Limits.labelKeyBytes.value) bytes, not \(key.utf8.count)")
      return false
    }
    return true
  }
}

/// The rules for names of groups.
package enum TaskGroupName {
  package static func read(_ reader: inout ObjectReader, _ name: String) -> String? {
    guard let text = reader.string(name, upTo: Limits.groupBytes.value) else { return nil }
    guard !text.isEmpty else {
      reader.reject(name, "must have at least one byte; leave it out if the task has no group")
      return nil
    }
    return text
  }
}
