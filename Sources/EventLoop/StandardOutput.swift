internal import Glibc

/// The process's standard output, for the log.
package enum StandardOutput {
  /// Writes whole lines at once, so that those of several threads do not mix.
  package static func write(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { buffer in
      var done = 0
      while done < buffer.count {
        let count = Glibc.write(1, buffer.baseAddress! + done, buffer.count - done)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }  // nobody reads the log: the service goes on
        done += count
      }
    }
  }
}
