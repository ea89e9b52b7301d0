/// The file on the service's machine that a download becomes. Ferry's own addition.
public struct FerryDestination: Sendable, Hashable {
  /// The rule for a file that exists already.
  public enum ExistingFile: String, Sendable, CaseIterable {
    /// The task ends with `FerryError.destinationFailed`.
    case fail
    /// The download replaces the file in one step.
    case replace
    /// The download takes the first free name of `a (1).iso`, `a (2).iso` and so on.
    case rename
  }
  /// The absolute path, below a directory that the operator has opened.
  public var file: String
  /// The rule for a file that exists already.
  public var ifExists: ExistingFile
  /// Creates a destination.
  public init(file: String, ifExists: ExistingFile = .fail) {
    self.file = file
    self.ifExists = ifExists
  }
}
