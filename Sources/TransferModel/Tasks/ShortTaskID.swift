internal import JSON

/// A part of a task's id that identifies the task: the id's beginning with `tsk_` and at least eight
/// digits, or at least its last eight digits.
package struct ShortTaskID: Sendable, Equatable {
  /// The fewest digits. Fewer could be a mistake that selects all tasks. Those of an ending are random.
  package static let fewestDigits = 8

  /// The hexadecimal digits, in lower case.
  package let digits: String
  /// Whether the digits are the beginning of the id.
  package let isBeginning: Bool

  /// Returns `nil` if the text cannot be a part of an id.
  package init?(_ text: String) {
    let prefix = TaskIDKind.prefix
    isBeginning = text.hasPrefix(prefix)
    digits = String(text.dropFirst(isBeginning ? prefix.count : 0).lowercased().filter { $0 != "-" })
    guard digits.utf8.count <= 32, digits.utf8.allSatisfy({ hexValue(of: $0) != nil }),
      digits.utf8.count >= Self.fewestDigits
    else { return nil }
  }

  package func matches(_ id: TaskID) -> Bool {
    let text = Hexadecimal.text(id.bytes)
    return isBeginning ? text.hasPrefix(digits) : text.hasSuffix(digits)
  }

  /// The lowest and the highest id that can match.
  package var range: ClosedRange<TaskID> {
    guard isBeginning else { return TaskID.all }
    func id(_ rest: Character) -> TaskID {
      let text = digits + String(repeating: rest, count: 32 - digits.count)
      let words = [text.prefix(16), text.suffix(16)].map { UInt64($0, radix: 16) ?? 0 }
      return TaskID(high: words[0], low: words[1])
    }
    return id("0")...id("f")
  }
}

extension ID {
  /// All values.
  package static var all: ClosedRange<Self> { Self(high: 0, low: 0)...Self(high: .max, low: .max) }

  /// The highest id of a time.
  package static func last(at time: Timestamp) -> Self { Self(at: time, random: (.max, .max)) }
}
