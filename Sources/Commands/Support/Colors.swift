internal import FoundationEssentials

/// The colours of one stream. Only a terminal has colours, unless `NO_COLOR` is set (https://no-color.org) or `TERM` is
/// `dumb`.
struct Colors: Sendable, Equatable {
  /// The meaning of a text, which has one colour.
  enum Role: Sendable, Equatable {
    case success, failure, waiting, secondary

    /// The role of a state of a task or delivery; `nil` for a state without colour.
    init?(state: String) {
      switch state {
      case "succeeded", "delivered": self = .success
      case "failed": self = .failure
      case "pending": self = .waiting
      case _ where state.hasPrefix("waiting"): self = .waiting
      default: return nil
      }
    }

    /// The parameter of the escape sequence SGR (ECMA-48 §8.3.117).
    fileprivate var parameter: Int {
      switch self {
      case .success: 32
      case .failure: 31
      case .waiting: 33
      case .secondary: 2
      }
    }
  }

  static let none = Colors(isTerminal: false, [:])
  /// The colours of standard output.
  static var output: Colors { Colors(isTerminal: Terminal.isOutput, ProcessInfo.processInfo.environment) }
  /// The colours of standard error.
  static var error: Colors { Colors(isTerminal: Terminal.isError, ProcessInfo.processInfo.environment) }

  let isOn: Bool

  init(isTerminal: Bool, _ environment: [String: String]) {
    isOn = isTerminal && environment["NO_COLOR", default: ""].isEmpty && Terminal.movesCursor(environment)
  }

  /// Encloses a text in the escape sequences of its role.
  func paint(_ text: String, _ role: Role?) -> String {
    guard isOn, let role, !text.isEmpty else { return text }
    return "\u{1B}[\(role.parameter)m\(text)\u{1B}[0m"
  }
}
