internal import CProcess

/// The versions from which the program was built.
package enum Build {
  /// The first digits of the commit, with a plus sign if files had changed; `unknown` if the build did not set it.
  package static let commit = String(cString: cprocess_commit)
  /// The version of Swift; `unknown` if the build did not set it.
  package static let swift = String(cString: cprocess_swift)
}
