/// The process's standard output, which receives the log. Commands whose exit status is their result, such as `ferry stop`,
/// write their report here. The results of other commands go through `CommandOutput`.
package enum StandardOutput {
  /// Writes whole lines at once, so that lines of several threads do not mix.
  package static func write(_ bytes: [UInt8]) {
    // Without a reader of the log, the service continues.
    _ = DescriptorTransfer.writeAll(bytes, to: 1)
  }
}

/// The process's standard error, which receives a command's error messages.
package enum StandardError {
  package static func write(_ bytes: [UInt8]) { _ = DescriptorTransfer.writeAll(bytes, to: 2) }
}
