internal import CProcess

/// What the program was built of, and with.
package enum Build {
  /// The commit's first digits, with a plus sign where files had changed; "unknown" where the build did not say.
  package static let commit = String(cString: cprocess_commit)
  /// The version of Swift; "unknown" where the build did not say.
  package static let swift = String(cString: cprocess_swift)
}
